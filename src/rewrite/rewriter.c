/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/rewriter.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "rewrite/past.h"
#include "rewrite/source/ctoken.h"
#include "rewrite/source/token_digest.h"

struct rewriter {
	const char *name;
	int (*propose)(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw,
		       const char *arg);
	int (*check)(const char *arg); /* check the argument; NULL if the rewriter takes none */
};

static const struct rewriter rewriters[] = {
	{ "history", kl_history_propose, NULL },
	{ "passes", kl_passes_propose, kl_passes_check },
	{ "patches", kl_patches_propose, kl_patches_check },
	{ "stepwise", kl_stepwise_propose, NULL },
	{ "exec", kl_exec_propose, NULL },
	{ "chat", kl_chat_propose, NULL },
};

/* maximum number of parts of one change to offer; the gate must judge each part */
#define MAX_PARTS 6
#define MAX_SOURCE (4u << 20)

void kl_rewrite_release(struct kl_rewrite *rw)
{
	kl_past_free(rw->past);
	rw->past = NULL;
	kl_map_release(&rw->cache);
}

/* Split a word such as "patches:dir" and find its row of the table; *arg is "dir". */
static int find_rewriter(const struct rewriter **out, const char **arg, char *word)
{
	char *colon = strchr(word, ':');

	if (colon)
		*colon = '\0';
	*arg = colon ? colon + 1 : NULL;
	for (size_t i = 0; i < KL_ARRAY_SIZE(rewriters); i++) {
		if (strcmp(rewriters[i].name, word))
			continue;
		if (*arg && !rewriters[i].check)
			return kl_error(KL_EUSAGE, "rewriter '%s' takes no argument", word);
		*out = &rewriters[i];
		return 0;
	}
	return kl_error(KL_EUSAGE,
			"unknown rewriter '%s' (available: history, passes[:<dir>], "
			"patches:<dir>, stepwise, exec, chat)",
			word);
}

int kl_rewriters_check(const char *list)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;

	kl_strvec_split(&words, list, ", ");
	if (!words.n)
		return kl_error(KL_EUSAGE, "the list of rewriters is empty");
	for (size_t i = 0; i < words.n; i++) {
		const struct rewriter *rewriter;
		const char *arg;
		int err = find_rewriter(&rewriter, &arg, words.v[i]);

		if (!err && rewriter->check)
			err = rewriter->check(arg);
		if (err < 0)
			return err;
	}
	if (kl_strvec_has(&words, "chat") && kl_strvec_has(&words, "exec"))
		return kl_error(KL_EUSAGE, "the rewriters exec and chat share one conversation; "
					   "name only one of them");
	return 0;
}

const char *kl_rewriters_model(const char *list)
{
	static const char *const talkers[] = { "chat", "exec" };
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;

	kl_strvec_split(&words, list, ", ");
	for (size_t i = 0; i < KL_ARRAY_SIZE(talkers); i++)
		if (kl_strvec_has(&words, talkers[i]))
			return talkers[i];
	return NULL;
}

/*
 * Ask the rewriters in order for a proposal; ask stepwise, which waits for the user, only in the
 * second round.
 */
static int ask_all(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *list)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;

	kl_strvec_split(&words, list, ", ");
	for (size_t i = 0; i < words.n && !*out && !*stop; i++) {
		const struct rewriter *rewriter;
		const char *arg;
		int err = find_rewriter(&rewriter, &arg, words.v[i]);

		if (!err && (rw->again || rewriter->propose != kl_stepwise_propose))
			err = rewriter->propose(out, stop, rw, arg);
		if (err < 0)
			return kl_error_in(err, "rewriter '%s'", words.v[i]);
	}
	return 0;
}

int kl_rewrite_next(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *list)
{
	*out = NULL;
	*stop = false;
	rw->limited = false;
	rw->skipped = rw->unreadable = 0;
	if (strcmp(rw->cache_of, rw->state->digest)) {
		kl_map_release(&rw->cache);
		rw->cache = (struct kl_map){ .free_value = free };
		memcpy(rw->cache_of, rw->state->digest, KL_DIGEST_HEX);
	}
	for (int round = 0; round < 2 && !*out && !*stop; round++) {
		int err;

		rw->again = round > 0;
		err = ask_all(out, stop, rw, list);
		rw->again = false;
		if (err < 0)
			return err;
	}
	return 0;
}

void kl_rewrite_print(struct kl_rewrite *rw, const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	va_list ap;

	if (!rw->say)
		return;
	va_start(ap, fmt);
	kl_buf_vaddf(&buf, fmt, ap);
	va_end(ap);
	rw->say(buf.ptr, rw->payload);
}

const struct kl_file *kl_rewrite_file(const struct kl_rewrite *rw, const char *path)
{
	for (size_t i = 0; i < rw->state->nfile; i++)
		if (!strcmp(rw->state->file[i].path, path))
			return &rw->state->file[i];
	return NULL;
}

int kl_rewrite_read_tree(struct kl_file **edit, size_t *n, const struct kl_rewrite *rw,
			 const git_oid *tree)
{
	const struct kl_surface *surface = rw->state;
	struct kl_file *list = kl_calloc(surface->nfile + 1, sizeof(*list));
	size_t have = 0;

	for (size_t i = 0; i < surface->nfile; i++) {
		KL_AUTO(kl_freep) char *path = *surface->dir ? kl_fs_join(surface->dir,
									  surface->file[i].path) :
							       kl_strdup(surface->file[i].path);
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		uint32_t mode;
		git_oid blob;
		int err = kl_repo_tree_entry(&blob, &mode, rw->repo, tree, path);

		if (!err && (mode & 0170000) == 0100000)
			err = kl_repo_blob_read(&text, rw->repo, &blob, MAX_SOURCE);
		else if (!err || err == KL_ENOTFOUND)
			continue;
		if (err < 0) {
			kl_edits_free(list, have);
			return err;
		}
		list[have].path = kl_strdup(surface->file[i].path);
		list[have].mode =
			surface->file[i].mode; /* keep the mode: changing it is no simplification */
		list[have].len = text.len;
		list[have++].data = kl_buf_detach(&text);
	}
	*edit = list;
	*n = have;
	return 0;
}

void kl_edits_free(struct kl_file *edit, size_t n)
{
	for (size_t i = 0; edit && i < n; i++) {
		free(edit[i].path);
		free(edit[i].data);
	}
	free(edit);
}

static char *or_empty(const char *text)
{
	return kl_strdup(text ? text : "");
}

int kl_rewrite_offer(struct kl_proposal **out, struct kl_rewrite *rw, const struct kl_file *edit,
		     size_t n, const struct kl_claim *claim)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	KL_AUTO(kl_proposal_freep) struct kl_proposal *proposal = NULL;
	char id[KL_DIGEST_HEX], lines[KL_DIGEST_HEX];
	struct kl_token_digests tokens;
	int err;

	*out = NULL;
	if ((err = kl_surface_with(&surface, rw->state, edit, n)) < 0)
		return err;
	kl_proposal_id(id, rw->state->digest, surface->digest);
	kl_proposal_edit(lines, rw->state, surface);
	if (!strcmp(surface->digest, rw->state->digest) ||
	    (rw->tried && rw->tried(id, surface->digest, lines, rw->again, rw->payload)))
		return 0;
	proposal = kl_calloc(1, sizeof(*proposal));
	memcpy(proposal->id, id, sizeof(id));
	memcpy(proposal->edit, lines, sizeof(lines));
	kl_token_digest(&tokens, surface);
	memcpy(proposal->tokens, tokens.reached, sizeof(tokens.reached));
	memcpy(proposal->all_tokens, tokens.whole, sizeof(tokens.whole));
	proposal->rewriter = or_empty(claim->rewriter);
	proposal->source = or_empty(claim->source);
	proposal->action = or_empty(claim->action);
	proposal->mechanism = or_empty(claim->mechanism);
	proposal->text = or_empty(claim->text);
	proposal->locus = claim->locus && *claim->locus ? kl_strdup(claim->locus) :
							  kl_proposal_locus(rw->state, surface);
	proposal->origin = claim->origin;
	proposal->traits = claim->traits ? json_deep_copy(claim->traits) : json_object();
	if (claim->commits)
		kl_strvec_copy(&proposal->commits, claim->commits);
	if (claim->folded)
		kl_strvec_copy(&proposal->folded, claim->folded);
	proposal->candidate = kl_steal(&surface);
	*out = kl_steal(&proposal);
	return 0;
}

/* --- splitting ------------------------------------------------------------ */

struct split {
	struct kl_rewrite *rw;
	struct kl_claim claim;
	int tried; /* number of parts so far, including those that earlier calls offered */
};

static bool same_files(const struct kl_file *a, const struct kl_file *b)
{
	return a->len == b->len && !memcmp(a->data, b->data, a->len);
}

static const struct kl_cfn *function_of(const struct kl_ctokens *tokens, const char *name,
					size_t len)
{
	for (size_t i = 0; i < tokens->nfn; i++)
		if (tokens->fn[i].name_len == len &&
		    !memcmp(tokens->text + tokens->fn[i].name_off, name, len))
			return &tokens->fn[i];
	return NULL;
}

static void function_span(size_t *off, size_t *len, const struct kl_ctokens *tokens,
			  const struct kl_cfn *cfn)
{
	*off = tokens->t[cfn->first].off;
	*len = tokens->t[cfn->last].off + tokens->t[cfn->last].len - *off;
}

static int offer_part(struct kl_proposal **out, struct split *split, const struct kl_file *edit,
		      const char *where)
{
	KL_AUTO(kl_freep) char *source = kl_asprintf("%s@%s", split->claim.source, where);
	struct kl_claim claim = split->claim;

	claim.source = source;
	split->tried++;
	return kl_rewrite_offer(out, split->rw, edit, 1, &claim);
}

/* Offer the changes between two versions of a file, one changed function at a time. */
static int split_file(struct kl_proposal **out, struct split *split, const struct kl_file *before,
		      const struct kl_file *after)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens old_tokens = { 0 };
	KL_AUTO(kl_ctokens_release) struct kl_ctokens new_tokens = { 0 };

	kl_ctoken_lex(&old_tokens, before->data, before->len);
	kl_ctoken_lex(&new_tokens, after->data, after->len);
	for (size_t i = 0; i < old_tokens.nfn && split->tried < MAX_PARTS; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *name = kl_strndup(before->data + old_tokens.fn[i].name_off,
							  old_tokens.fn[i].name_len);
		KL_AUTO(kl_freep) char *where = kl_asprintf("%s:%s", before->path, name);
		const struct kl_cfn *new_fn = function_of(&new_tokens, name,
							  old_tokens.fn[i].name_len);
		struct kl_file edit = *before;
		size_t old_off, old_len, new_off, new_len;
		int err;

		if (!new_fn)
			continue;
		function_span(&old_off, &old_len, &old_tokens, &old_tokens.fn[i]);
		function_span(&new_off, &new_len, &new_tokens, new_fn);
		if (old_len == new_len &&
		    !memcmp(before->data + old_off, after->data + new_off, old_len))
			continue;
		kl_buf_add(&text, before->data, old_off);
		kl_buf_add(&text, after->data + new_off, new_len);
		kl_buf_add(&text, before->data + old_off + old_len,
			   before->len - old_off - old_len);
		if (text.len == after->len && !memcmp(text.ptr, after->data, after->len))
			/* only this function changes, so the part would be the whole change */
			continue;
		edit.data = text.ptr;
		edit.len = text.len;
		if ((err = offer_part(out, split, &edit, where)) < 0 || *out)
			return err;
	}
	return 0;
}

int kl_rewrite_part(struct kl_proposal **out, struct kl_rewrite *rw, const struct kl_surface *whole,
		    const struct kl_claim *claim)
{
	struct split split = { .rw = rw, .claim = *claim };
	const struct kl_surface *surface = rw->state;
	size_t differ = 0;

	*out = NULL;
	split.claim.locus = NULL;
	for (size_t i = 0; i < surface->nfile && i < whole->nfile; i++)
		differ += !same_files(&surface->file[i], &whole->file[i]);
	for (size_t i = 0; i < surface->nfile && i < whole->nfile && split.tried < MAX_PARTS; i++) {
		const struct kl_file *file = &whole->file[i];
		int err;

		if (same_files(&surface->file[i], file))
			continue;
		err = split_file(out, &split, &surface->file[i], file);
		if (!err && !*out && differ > 1)
			err = offer_part(out, &split, file, file->path);
		if (err < 0 || *out)
			return err;
	}
	return 0;
}

int kl_rewrite_split(struct kl_proposal **out, struct kl_rewrite *rw,
		     const struct kl_proposal *whole)
{
	struct kl_claim claim = {
		.rewriter = whole->rewriter,
		.source = whole->source,
		.action = whole->action,
		.mechanism = whole->mechanism,
		.text = whole->text,
		.origin = whole->origin,
		.traits = whole->traits,
	};

	int err;

	*out = NULL;
	if (kl_rewriters_model(whole->rewriter))
		return kl_chat_split(out, rw, whole);
	if (whole->commits.n > 1 && ((err = kl_history_split(out, rw, whole)) < 0 || *out))
		return err;
	if (whole->commits.n > 1 && !rw->foreign)
		return 0; /* `whole` was held only because it takes back several commits */
	if (strchr(whole->source, '@'))
		return 0; /* `whole` is already a part of another proposal */
	return kl_rewrite_part(out, rw, whole->candidate, &claim);
}
