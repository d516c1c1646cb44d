/* SPDX-License-Identifier: Apache-2.0 */
#include "model/conversation.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "model/money.h"
#include "model/provider/key.h"
#include "model/turn.h"
#include "text/yaml_node.h"

#define MAX_TURNS 256
#define MAX_BLOCKS 16
#define MAX_TEXT ((size_t)16 << 20) /* of one file */
#define MAX_ALL ((size_t)64 << 20)  /* of a conversation */

void kl_turn_release(struct kl_turn *t)
{
	free(t->user);
	free(t->reply);
	free(t->key);
	free(t->provider);
	free(t->model);
	free(t->answered);
	free(t->request_id);
	free(t->time);
	free(t->reservation);
	free(t->price);
	*t = (struct kl_turn){ 0 };
}

void kl_conversation_release(struct kl_conversation *c)
{
	for (size_t i = 0; i < c->n; i++)
		kl_turn_release(&c->turn[i]);
	for (size_t i = 0; i < c->nsystem; i++)
		free(c->system[i]);
	free(c->turn);
	free(c->system);
	free(c->ref);
	free(c->workload);
	free(c->name);
	free(c->phase);
	*c = (struct kl_conversation){ 0 };
}

void kl_conversations_release(struct kl_conversations *l)
{
	for (size_t i = 0; i < l->n; i++)
		kl_conversation_release(&l->c[i]);
	free(l->c);
	*l = (struct kl_conversations){ 0 };
}

int64_t kl_conversation_cost(const char **model, const struct kl_conversation *c)
{
	const struct kl_turn *last = c->n ? &c->turn[c->n - 1] : NULL;
	int64_t nano = 0;
	bool metered = false;

	for (size_t i = 0; i < c->n; i++) {
		nano += c->turn[i].nano;
		metered |= c->turn[i].reservation != NULL;
	}
	*model = !last ? NULL : last->answered ? last->answered : last->model;
	return metered ? nano : -1;
}

bool kl_conversation_alone(const struct kl_conversation *c, size_t turn)
{
	for (size_t i = 0; i <= turn; i++)
		if (!c->turn[i].alone)
			return false;
	return true;
}

static bool is_zero(const git_oid *oid)
{
	static const git_oid zero;

	return !memcmp(oid, &zero, sizeof(zero));
}

/* --- digests -------------------------------------------------------------------- */

static void add_text(struct kl_digest *d, const char *s)
{
	size_t len = strlen(s);
	char size[24];

	snprintf(size, sizeof(size), "%zu", len);
	kl_digest_adds(d, size);
	kl_digest_add(d, s, len);
}

void kl_conversation_digests(char prompt[KL_DIGEST_HEX], char chain[KL_DIGEST_HEX],
			     const struct kl_conversation *c, size_t n, const char *user,
			     const char *key)
{
	struct kl_digest *d = kl_digest_new();
	KL_AUTO(kl_freep) const char **keys = kl_calloc(n + 1, sizeof(*keys));

	for (size_t i = 0; i < c->nsystem; i++)
		add_text(d, c->system[i]);
	kl_digest_adds(d, "messages");
	for (size_t i = 0; i < n; i++) {
		add_text(d, c->turn[i].user);
		add_text(d, c->turn[i].reply);
		keys[i] = c->turn[i].key;
	}
	add_text(d, user);
	kl_digest_end(d, prompt);
	keys[n] = key;
	kl_provider_key(chain, keys, n + 1);
}

/* --- reading -------------------------------------------------------------------- */

struct reader {
	struct kl_repo *repo;
	size_t total;   /* bytes read of this conversation */
	git_oid system; /* the tree of its blocks: the same at every turn */
};

static int read_file(char **out, struct reader *r, const git_oid *tree, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	git_oid blob;
	uint32_t mode;
	int err = kl_repo_tree_entry(&blob, &mode, r->repo, tree, path);

	if (err < 0 || (err = kl_repo_blob_read(&b, r->repo, &blob, MAX_TEXT)) < 0)
		return err;
	r->total += b.len;
	if (r->total > MAX_ALL)
		return kl_error(KL_EINVALID, "it has more than %zu MiB", MAX_ALL >> 20);
	if (mode != 0100644 || strlen(b.ptr) != b.len)
		return kl_error(KL_EINVALID, "'%s' is not text", path);
	*out = kl_buf_detach(&b);
	return 0;
}

static int read_turn(struct kl_turn *t, struct reader *r, const git_oid *tree, size_t number)
{
	KL_AUTO(kl_freep) char *meta = NULL;
	int err;

	if ((err = read_file(&t->user, r, tree, "user")) < 0 ||
	    (err = read_file(&t->reply, r, tree, "reply")) < 0 ||
	    (err = read_file(&t->key, r, tree, "key")) < 0 ||
	    (err = read_file(&meta, r, tree, "meta.json")) < 0)
		return err;
	err = kl_turn_parse(t, meta, number);
	return err < 0 ? kl_error_in(err, "meta.json") : 0;
}

static int read_system(struct kl_conversation *c, struct reader *r, const git_oid *tree)
{
	KL_AUTO(kl_blobs_release) struct kl_blobs list = { 0 };
	git_oid sub;
	int err = kl_repo_subtree(&sub, r->repo, tree, "system");

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (err < 0 || (err = kl_repo_tree_list(&list, r->repo, &sub, MAX_BLOCKS)) < 0)
		return err;
	r->system = sub;
	c->system = kl_calloc(list.n + 1, sizeof(*c->system));
	for (size_t i = 0; i < list.n; i++) {
		if ((err = read_file(&c->system[i], r, &sub, list.b[i].path)) < 0)
			return err;
		c->nsystem++;
	}
	return 0;
}

static int same_system(struct reader *r, const git_oid *tree)
{
	git_oid sub = { { 0 } };
	int err = kl_repo_subtree(&sub, r->repo, tree, "system");

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		err = 0;
	}
	if (!err && memcmp(&sub, &r->system, sizeof(sub)))
		return kl_error(KL_EINVALID,
				"its system blocks are not those of the turn after it");
	return err;
}

/* the commits of the turns, newest first */
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
			return kl_error(KL_EINVALID, "it has more than %d turns", MAX_TURNS);
		oid[got++] = at;
		if ((err = kl_repo_parents(&parent, &nparent, repo, &at)) < 0)
			return err;
		if (nparent > 1)
			return kl_error(KL_EINVALID, "turn %zu from its end is a merge", got - 1);
		if (!nparent)
			break;
		at = parent[0];
	}
	*out = kl_steal(&oid);
	*n = got;
	return 0;
}

/* the digests of the last turn are over all that was said: one check is enough */
static int check_digests(const struct kl_conversation *c)
{
	const struct kl_turn *last = &c->turn[c->n - 1];
	char prompt[KL_DIGEST_HEX], chain[KL_DIGEST_HEX];

	kl_conversation_digests(prompt, chain, c, c->n - 1, last->user, last->key);
	if (strcmp(prompt, last->prompt) || strcmp(chain, last->chain))
		return kl_error(KL_EINVALID,
				"turn %zu is not the answer to what is stored before it", c->n - 1);
	return 0;
}

static int read_all(struct kl_conversation *c, struct kl_repo *repo)
{
	struct reader r = { .repo = repo };
	KL_AUTO(kl_freep) git_oid *oid = NULL;
	size_t n = 0;
	git_oid tree;
	int err = read_chain(&oid, &n, repo, &c->tip);

	if (err < 0 || (err = kl_repo_tree_of(&tree, repo, &c->tip)) < 0 ||
	    (err = read_system(c, &r, &tree)) < 0)
		return err;
	KL_GROW(c->turn, n, c->alloc);
	for (size_t i = 0; i < n; i++) {
		struct kl_turn *t = &c->turn[i];

		*t = (struct kl_turn){ .commit = oid[n - 1 - i] };
		c->n++;
		if ((err = kl_repo_tree_of(&tree, repo, &t->commit)) < 0 ||
		    (err = same_system(&r, &tree)) < 0 || (err = read_turn(t, &r, &tree, i)) < 0)
			return kl_error_in(err, "turn %zu", i);
	}
	return check_digests(c);
}

static int check_names(const char *workload, const char *name, const char *phase)
{
	const char *part[] = { workload, name, phase };

	for (size_t i = 0; i < KL_ARRAY_SIZE(part); i++)
		if (!kl_node_is_slug(part[i]))
			return kl_error(KL_EINVALID,
					"'%.100s' cannot be part of a conversation's name",
					part[i]);
	return 0;
}

int kl_conversation_load(struct kl_conversation *out, struct kl_repo *repo, const char *workload,
			 const char *name, const char *phase)
{
	KL_AUTO(kl_conversation_release) struct kl_conversation c = {
		.ref = kl_asprintf(KL_CHAT_REFS "%s/%s/%s", workload, name, phase),
		.workload = kl_strdup(workload),
		.name = kl_strdup(name),
		.phase = kl_strdup(phase),
	};
	int err = check_names(workload, name, phase);

	if (!err)
		err = kl_refs_get(&c.tip, repo, c.ref);
	if (err == KL_ENOTFOUND)
		kl_error_clear();
	else if (err < 0 || (err = read_all(&c, repo)) < 0)
		return kl_error_in(err == KL_ENOTFOUND ? KL_EINVALID : err, "%s", c.ref);
	*out = c;
	c = (struct kl_conversation){ 0 };
	return 0;
}

/* "<workload>/<name>/<phase>" into its parts; false: something else */
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
	KL_AUTO(kl_conversations_release) struct kl_conversations l = { 0 };
	int err = kl_refs_list(&refs, repo, prefix);

	for (size_t i = 0; !err && i < refs.n; i++) {
		KL_GROW(l.c, l.n + 1, l.alloc);
		if (!(err = kl_conversation_load_ref(&l.c[l.n], repo, refs.ref[i].name)))
			l.n++;
	}
	if (err < 0)
		return err;
	*out = l;
	l = (struct kl_conversations){ 0 };
	return 0;
}

/* --- writing -------------------------------------------------------------------- */

void kl_conversation_system(struct kl_conversation *c, const char *const *block, size_t n)
{
	if (c->n || c->nsystem)
		return;
	c->system = kl_calloc(n + 1, sizeof(*c->system));
	for (size_t i = 0; i < n; i++)
		c->system[i] = kl_strdup(block[i]);
	c->nsystem = n;
}

void kl_conversation_take_system(struct kl_conversation *c, struct kl_conversation *from)
{
	for (size_t i = 0; i < c->nsystem; i++)
		free(c->system[i]);
	free(c->system);
	c->system = kl_steal(&from->system);
	c->nsystem = from->nsystem;
	from->nsystem = 0;
}

static char *turn_subject(const struct kl_conversation *c, const struct kl_turn *t)
{
	char money[KL_MONEY_TEXT];

	kl_money_text(money, t->nano);
	return kl_asprintf("chat: %s of %s, turn %zu (%s, %s)\n", c->phase, c->name, c->n, t->model,
			   t->reservation ? money : "unmetered");
}

static void add_edit(struct kl_tree_edit *e, const char *path, const char *text)
{
	*e = (struct kl_tree_edit){
		.path = path, .data = text, .len = strlen(text), .mode = 0100644
	};
}

static int write_tree(git_oid *out, struct kl_repo *repo, const struct kl_conversation *c,
		      const struct kl_turn *t)
{
	struct kl_tree_edit edit[MAX_BLOCKS + 4];
	char path[MAX_BLOCKS][16];
	KL_AUTO(kl_buf_release) struct kl_buf meta = KL_BUF_INIT;

	if (c->nsystem > MAX_BLOCKS || c->n >= MAX_TURNS)
		return kl_error(KL_EINVALID,
				"'%s' would have more than %d turns or %d system blocks", c->ref,
				MAX_TURNS, MAX_BLOCKS);
	for (size_t i = 0; i < c->nsystem; i++) {
		snprintf(path[i], sizeof(path[i]), "system/%02zu", i);
		add_edit(&edit[i], path[i], c->system[i]);
	}
	kl_turn_format(&meta, t, c->n);
	add_edit(&edit[c->nsystem], "user", t->user);
	add_edit(&edit[c->nsystem + 1], "reply", t->reply);
	add_edit(&edit[c->nsystem + 2], "key", t->key);
	add_edit(&edit[c->nsystem + 3], "meta.json", meta.ptr);
	return kl_repo_tree_edit(out, repo, NULL, edit, c->nsystem + 4);
}

int kl_conversation_write(git_oid *out, struct kl_repo *repo, const struct kl_conversation *c,
			  const struct kl_turn *t)
{
	KL_AUTO(kl_freep) char *message = turn_subject(c, t);
	struct kl_commit_spec s = { .message = message, .time = time(NULL) };
	int err;

	if (!is_zero(&c->tip)) {
		s.parent = &c->tip;
		s.nparent = 1;
	}
	kl_repo_sync_objects(true);
	if (!(err = kl_repo_identity(&s.author, repo)) && !(err = write_tree(&s.tree, repo, c, t)))
		err = kl_repo_commit_write(out, repo, &s);
	kl_repo_sync_objects(false);
	return err;
}

void kl_conversation_push(struct kl_conversation *c, struct kl_turn *t, const git_oid *oid)
{
	KL_GROW(c->turn, c->n + 1, c->alloc);
	c->turn[c->n] = *t;
	c->turn[c->n++].commit = *oid;
	c->tip = *oid;
	*t = (struct kl_turn){ 0 };
}
