/* SPDX-License-Identifier: Apache-2.0 */
#include "model/conversation.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "model/money.h"
#include "model/provider/key.h"
#include "model/turn.h"
#include "text/name.h"

#define MAX_TURNS 256
#define MAX_BLOCKS 16
#define MAX_TEXT ((size_t)16 << 20) /* maximum bytes of one file */
#define MAX_ALL ((size_t)64 << 20)  /* maximum bytes of a conversation */

void kl_turn_release(struct kl_turn *turn)
{
	free(turn->user);
	free(turn->reply);
	free(turn->key);
	free(turn->provider);
	free(turn->model);
	free(turn->answered);
	free(turn->request_id);
	free(turn->time);
	free(turn->reservation);
	free(turn->price);
	free(turn->options);
	*turn = (struct kl_turn){ 0 };
}

void kl_conversation_release(struct kl_conversation *conversation)
{
	for (size_t i = 0; i < conversation->n; i++)
		kl_turn_release(&conversation->turn[i]);
	for (size_t i = 0; i < conversation->nsystem; i++)
		free(conversation->system[i]);
	free(conversation->turn);
	free(conversation->system);
	free(conversation->ref);
	free(conversation->workload);
	free(conversation->name);
	free(conversation->phase);
	*conversation = (struct kl_conversation){ 0 };
}

void kl_conversations_release(struct kl_conversations *conversations)
{
	for (size_t i = 0; i < conversations->n; i++)
		kl_conversation_release(&conversations->c[i]);
	free(conversations->c);
	*conversations = (struct kl_conversations){ 0 };
}

int64_t kl_conversation_cost(const char **model, const struct kl_conversation *conversation)
{
	const struct kl_turn *last = conversation->n ? &conversation->turn[conversation->n - 1] :
						       NULL;
	int64_t nano = 0;
	bool metered = false;

	for (size_t i = 0; i < conversation->n; i++) {
		nano += conversation->turn[i].nano;
		metered |= conversation->turn[i].reservation != NULL;
	}
	*model = !last ? NULL : last->answered ? last->answered : last->model;
	return metered ? nano : -1;
}

bool kl_conversation_alone(const struct kl_conversation *conversation, size_t turn)
{
	for (size_t i = 0; i <= turn; i++)
		if (!conversation->turn[i].alone)
			return false;
	return true;
}

/* --- digests -------------------------------------------------------------------- */

static void add_text(struct kl_digest *digest, const char *text)
{
	size_t len = strlen(text);
	char size[24];

	snprintf(size, sizeof(size), "%zu", len);
	kl_digest_adds(digest, size);
	kl_digest_add(digest, text, len);
}

void kl_conversation_digests(char prompt[KL_DIGEST_HEX], char chain[KL_DIGEST_HEX],
			     const struct kl_conversation *conversation, size_t n,
			     const struct kl_turn *turn)
{
	struct kl_digest *digest = kl_digest_new();
	KL_AUTO(kl_freep) const char **keys = kl_calloc(n + 1, sizeof(*keys));

	for (size_t i = 0; i < conversation->nsystem; i++)
		add_text(digest, conversation->system[i]);
	kl_digest_adds(digest, "messages");
	for (size_t i = 0; i < n; i++) {
		add_text(digest, conversation->turn[i].user);
		add_text(digest, conversation->turn[i].reply);
		keys[i] = conversation->turn[i].key;
	}
	add_text(digest, turn->user);
	if (turn->options) {
		kl_digest_adds(digest, "options");
		kl_digest_adds(digest, turn->options);
	}
	kl_digest_end(digest, prompt);
	keys[n] = turn->key;
	kl_provider_key(chain, keys, n + 1);
}

/* --- reading -------------------------------------------------------------------- */

struct reader {
	struct kl_repo *repo;
	size_t total;   /* bytes read of this conversation */
	git_oid system; /* tree of the system blocks, the same for every turn */
};

static int read_file(char **out, struct reader *reader, const git_oid *tree, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	git_oid blob;
	uint32_t mode;
	int err = kl_repo_tree_entry(&blob, &mode, reader->repo, tree, path);

	if (err < 0 || (err = kl_repo_blob_read(&buf, reader->repo, &blob, MAX_TEXT)) < 0)
		return err;
	reader->total += buf.len;
	if (reader->total > MAX_ALL)
		return kl_error(KL_EINVALID, "the conversation is larger than %zu MiB",
				MAX_ALL >> 20);
	if (mode != 0100644 || strlen(buf.ptr) != buf.len)
		return kl_error(KL_EINVALID, "'%s' is not text", path);
	*out = kl_buf_detach(&buf);
	return 0;
}

static int read_turn(struct kl_turn *turn, struct reader *reader, const git_oid *tree,
		     size_t number)
{
	KL_AUTO(kl_freep) char *meta = NULL;
	int err;

	if ((err = read_file(&turn->user, reader, tree, "user")) < 0 ||
	    (err = read_file(&turn->reply, reader, tree, "reply")) < 0 ||
	    (err = read_file(&turn->key, reader, tree, "key")) < 0 ||
	    (err = read_file(&meta, reader, tree, "meta.json")) < 0)
		return err;
	err = kl_turn_parse(turn, meta, number);
	return err < 0 ? kl_error_in(err, "meta.json") : 0;
}

static int read_system(struct kl_conversation *conversation, struct reader *reader,
		       const git_oid *tree)
{
	KL_AUTO(kl_blobs_release) struct kl_blobs list = { 0 };
	git_oid sub;
	int err = kl_repo_subtree(&sub, reader->repo, tree, "system");

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (err < 0 || (err = kl_repo_tree_list(&list, reader->repo, &sub, MAX_BLOCKS)) < 0)
		return err;
	reader->system = sub;
	conversation->system = kl_calloc(list.n + 1, sizeof(*conversation->system));
	for (size_t i = 0; i < list.n; i++) {
		if ((err = read_file(&conversation->system[i], reader, &sub, list.b[i].path)) < 0)
			return err;
		conversation->nsystem++;
	}
	return 0;
}

static int same_system(struct reader *reader, const git_oid *tree)
{
	git_oid sub = kl_oid_none;
	int err = kl_repo_subtree(&sub, reader->repo, tree, "system");

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		err = 0;
	}
	if (!err && memcmp(&sub, &reader->system, sizeof(sub)))
		return kl_error(KL_EINVALID,
				"the system blocks differ from those of the last turn");
	return err;
}

/* Collect the commits of the turns, newest first. */
static int read_chain(git_oid **out, size_t *n, struct kl_repo *repo, const git_oid *tip)
{
	KL_AUTO(kl_freep) git_oid *oid = kl_calloc(MAX_TURNS, sizeof(*oid));
	git_oid at = *tip;
	size_t got = 0;

	for (;;) {
		KL_AUTO(kl_freep) git_oid *parent = NULL;
		size_t nparent = 0;
		int err;

		if (got == MAX_TURNS)
			return kl_error(KL_EINVALID, "the conversation has more than %d turns",
					MAX_TURNS);
		oid[got++] = at;
		if ((err = kl_repo_parents(&parent, &nparent, repo, &at)) < 0)
			return err;
		if (nparent > 1)
			return kl_error(KL_EINVALID, "turn %zu from the end is a merge commit",
					got - 1);
		if (!nparent)
			break;
		at = parent[0];
	}
	*out = kl_steal(&oid);
	*n = got;
	return 0;
}

/*
 * Check the digests of the last turn only: they cover the whole conversation except the reply of
 * that turn.
 */
static int check_digests(const struct kl_conversation *conversation)
{
	const struct kl_turn *last = &conversation->turn[conversation->n - 1];
	char prompt[KL_DIGEST_HEX], chain[KL_DIGEST_HEX];

	kl_conversation_digests(prompt, chain, conversation, conversation->n - 1, last);
	if (strcmp(prompt, last->prompt) || strcmp(chain, last->chain))
		return kl_error(KL_EINVALID,
				"the digests of turn %zu do not match the stored conversation",
				conversation->n - 1);
	return 0;
}

static int read_all(struct kl_conversation *conversation, struct kl_repo *repo)
{
	struct reader reader = { .repo = repo };
	KL_AUTO(kl_freep) git_oid *oid = NULL;
	size_t n = 0;
	git_oid tree;
	int err = read_chain(&oid, &n, repo, &conversation->tip);

	if (err < 0 || (err = kl_repo_tree_of(&tree, repo, &conversation->tip)) < 0 ||
	    (err = read_system(conversation, &reader, &tree)) < 0)
		return err;
	KL_GROW(conversation->turn, n, conversation->alloc);
	for (size_t i = 0; i < n; i++) {
		struct kl_turn *turn = &conversation->turn[i];

		*turn = (struct kl_turn){ .commit = oid[n - 1 - i] };
		conversation->n++;
		if ((err = kl_repo_tree_of(&tree, repo, &turn->commit)) < 0 ||
		    (err = same_system(&reader, &tree)) < 0 ||
		    (err = read_turn(turn, &reader, &tree, i)) < 0)
			return kl_error_in(err, "turn %zu", i);
	}
	return check_digests(conversation);
}

static int check_names(const char *workload, const char *name, const char *phase)
{
	const char *part[] = { workload, name, phase };

	for (size_t i = 0; i < KL_ARRAY_SIZE(part); i++)
		if (!kl_name_is_slug(part[i]))
			return kl_error(KL_EINVALID,
					"'%.100s' is not valid in the name of a conversation",
					part[i]);
	return 0;
}

int kl_conversation_load(struct kl_conversation *out, struct kl_repo *repo, const char *workload,
			 const char *name, const char *phase)
{
	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = {
		.ref = kl_asprintf(KL_CHAT_REFS "%s/%s/%s", workload, name, phase),
		.workload = kl_strdup(workload),
		.name = kl_strdup(name),
		.phase = kl_strdup(phase),
	};
	int err = check_names(workload, name, phase);

	if (!err)
		err = kl_refs_get(&conversation.tip, repo, conversation.ref);
	if (err == KL_ENOTFOUND)
		kl_error_clear();
	else if (err < 0 || (err = read_all(&conversation, repo)) < 0)
		return kl_error_in(err == KL_ENOTFOUND ? KL_EINVALID : err, "%s", conversation.ref);
	*out = conversation;
	conversation = (struct kl_conversation){ 0 };
	return 0;
}

/* Split "<workload>/<name>/<phase>" in place. Return false if `text` is malformed. */
static bool split_ref(char *text, const char *part[3])
{
	for (int i = 0; i < 3; i++) {
		char *slash = strchr(text, '/');

		part[i] = text;
		if ((i < 2) != !!slash)
			return false;
		if (slash)
			*slash = '\0';
		text = slash + 1;
	}
	return true;
}

int kl_conversation_load_ref(struct kl_conversation *out, struct kl_repo *repo, const char *ref)
{
	size_t skip = strlen(KL_CHAT_REFS);
	KL_AUTO(kl_freep) char *text = kl_strdup(strncmp(ref, KL_CHAT_REFS, skip) ? "" :
										    ref + skip);
	const char *part[3];

	if (!split_ref(text, part))
		return kl_error(KL_EINVALID, "'%s' is not named <workload>/<name>/<phase>", ref);
	return kl_conversation_load(out, repo, part[0], part[1], part[2]);
}

int kl_conversations_load(struct kl_conversations *out, struct kl_repo *repo, const char *workload,
			  const char *name)
{
	KL_AUTO(kl_freep) char *prefix = !workload ? kl_strdup(KL_CHAT_REFS) :
					 !name     ? kl_asprintf(KL_CHAT_REFS "%s/", workload) :
						 kl_asprintf(KL_CHAT_REFS "%s/%s/", workload, name);
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	KL_AUTO(kl_conversations_release) struct kl_conversations conversations = { 0 };
	int err = kl_refs_list(&refs, repo, prefix);

	for (size_t i = 0; !err && i < refs.n; i++) {
		KL_GROW(conversations.c, conversations.n + 1, conversations.alloc);
		if (!(err = kl_conversation_load_ref(&conversations.c[conversations.n], repo,
						     refs.ref[i].name)))
			conversations.n++;
	}
	if (err < 0)
		return err;
	*out = conversations;
	conversations = (struct kl_conversations){ 0 };
	return 0;
}

/* --- writing -------------------------------------------------------------------- */

void kl_conversation_system(struct kl_conversation *conversation, const char *const *block,
			    size_t n)
{
	if (conversation->n || conversation->nsystem)
		return;
	conversation->system = kl_calloc(n + 1, sizeof(*conversation->system));
	for (size_t i = 0; i < n; i++)
		conversation->system[i] = kl_strdup(block[i]);
	conversation->nsystem = n;
}

void kl_conversation_take_system(struct kl_conversation *conversation, struct kl_conversation *from)
{
	for (size_t i = 0; i < conversation->nsystem; i++)
		free(conversation->system[i]);
	free(conversation->system);
	conversation->system = kl_steal(&from->system);
	conversation->nsystem = from->nsystem;
	from->nsystem = 0;
}

static char *turn_subject(const struct kl_conversation *conversation, const struct kl_turn *turn)
{
	char money[KL_MONEY_TEXT];

	kl_money_text(money, turn->nano);
	return kl_asprintf("chat: %s of %s, turn %zu (%s, %s)\n", conversation->phase,
			   conversation->name, conversation->n, turn->model,
			   turn->reservation ? money : "unmetered");
}

static void add_edit(struct kl_tree_edit *edit, const char *path, const char *text)
{
	*edit = (struct kl_tree_edit){
		.path = path, .data = text, .len = strlen(text), .mode = 0100644
	};
}

static int write_tree(git_oid *out, struct kl_repo *repo,
		      const struct kl_conversation *conversation, const struct kl_turn *turn)
{
	struct kl_tree_edit edit[MAX_BLOCKS + 4];
	char path[MAX_BLOCKS][16];
	KL_AUTO(kl_buf_release) struct kl_buf meta = KL_BUF_INIT;

	if (conversation->nsystem > MAX_BLOCKS || conversation->n >= MAX_TURNS)
		return kl_error(KL_EINVALID,
				"'%s' would have more than %d turns or %d system blocks",
				conversation->ref, MAX_TURNS, MAX_BLOCKS);
	for (size_t i = 0; i < conversation->nsystem; i++) {
		snprintf(path[i], sizeof(path[i]), "system/%02zu", i);
		add_edit(&edit[i], path[i], conversation->system[i]);
	}
	kl_turn_format(&meta, turn, conversation->n);
	add_edit(&edit[conversation->nsystem], "user", turn->user);
	add_edit(&edit[conversation->nsystem + 1], "reply", turn->reply);
	add_edit(&edit[conversation->nsystem + 2], "key", turn->key);
	add_edit(&edit[conversation->nsystem + 3], "meta.json", meta.ptr);
	return kl_repo_tree_edit(out, repo, NULL, edit, conversation->nsystem + 4);
}

int kl_conversation_write(git_oid *out, struct kl_repo *repo,
			  const struct kl_conversation *conversation, const struct kl_turn *turn)
{
	KL_AUTO(kl_freep) char *message = turn_subject(conversation, turn);
	struct kl_commit_spec spec = { .message = message, .time = time(NULL) };
	int err;

	if (!git_oid_is_zero(&conversation->tip)) {
		spec.parent = &conversation->tip;
		spec.nparent = 1;
	}
	kl_repo_sync_objects(true);
	if (!(err = kl_repo_identity(&spec.author, repo)) &&
	    !(err = write_tree(&spec.tree, repo, conversation, turn)))
		err = kl_repo_commit_write(out, repo, &spec);
	kl_repo_sync_objects(false);
	return err;
}

void kl_conversation_push(struct kl_conversation *conversation, struct kl_turn *turn,
			  const git_oid *oid)
{
	KL_GROW(conversation->turn, conversation->n + 1, conversation->alloc);
	conversation->turn[conversation->n] = *turn;
	conversation->turn[conversation->n++].commit = *oid;
	conversation->tip = *oid;
	*turn = (struct kl_turn){ 0 };
}
