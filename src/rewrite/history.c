/* SPDX-License-Identifier: Apache-2.0 */
/* history - rewriter history: proposes earlier states of the kernel and reverts of its commits */
#include <string.h>

#include "base/error.h"
#include "rewrite/rewriter.h"

/*
 * The surface before a commit is often simpler than the surface after it. First, whole states older
 * than the last accepted one are proposed, newest first. Then the current state is proposed with
 * one commit reverted.
 *
 * Reverting a backward step of an earlier walk would be an optimization, so such commits and the
 * states they led to are skipped.
 */
#define MAX_COMMITS 1000

struct past {
	git_oid commit;
	bool back; /* a backward step of an earlier walk */
};

struct kl_history {
	struct past *p; /* newest first; p[0] is the commit that made the expert's surface */
	size_t n;
};

void kl_history_free(struct kl_history *history)
{
	if (!history)
		return;
	free(history->p);
	free(history);
}

static int source_paths(struct kl_strvec *out, const struct kl_surface *surface)
{
	for (size_t i = 0; i < surface->nfile; i++) {
		if (*surface->dir)
			kl_strvec_pushf(out, "%s/%s", surface->dir, surface->file[i].path);
		else
			kl_strvec_push(out, surface->file[i].path);
	}
	return 0;
}

static int load_history(struct kl_rewrite *rw)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec paths = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) git_oid *oid = NULL;
	struct kl_history *history;
	size_t n;
	int err;

	source_paths(&paths, rw->state);
	err = kl_repo_touching(&oid, &n, rw->repo, &rw->expert, (const char *const *)paths.v,
			       paths.n, MAX_COMMITS);
	if (err < 0)
		return err;
	history = rw->history = kl_calloc(1, sizeof(*history));
	history->p = kl_calloc(n + 1, sizeof(*history->p));
	for (; history->n < n; history->n++) {
		struct kl_commit commit = { 0 };
		KL_AUTO(kl_freep) char *direction = NULL;

		if ((err = kl_repo_commit_read(&commit, rw->repo, &oid[history->n])) < 0)
			return err;
		direction = kl_trailer_get(commit.message, "Klineage-Direction");
		history->p[history->n].commit = oid[history->n];
		history->p[history->n].back = direction && !strcmp(direction, "back");
		kl_commit_release(&commit);
	}
	return 0;
}

/*
 * Return the index of the oldest commit whose state was accepted as a step; if there is none, of
 * the newest commit that is not a backward step of an earlier walk.
 */
static size_t history_cursor(const struct kl_rewrite *rw, const struct kl_history *history)
{
	size_t at = 0, i;
	json_t *step;

	while (at < history->n && history->p[at].back)
		at++;
	json_array_foreach(rw->steps, i, step) {
		const char *source = kl_json_str_or(step, "source", "");

		if (strcmp(kl_json_str_or(step, "rewriter", ""), "history"))
			continue;
		for (size_t k = 0; k < history->n; k++) {
			char hex[KL_OID_HEX];

			kl_oid_hex(hex, &history->p[k].commit);
			if (!strcmp(hex, source) && k > at)
				at = k;
		}
	}
	return at;
}

struct words {
	struct kl_buf text;
	char *action, *mechanism, *locus;
	json_t *traits;
};

static void words_release(struct words *words)
{
	kl_buf_release(&words->text);
	free(words->action);
	free(words->mechanism);
	free(words->locus);
	json_decref(words->traits);
}

/*
 * Describe a step by the commits that it undoes, newest first. If there is only one commit, its
 * trailers also give the action, mechanism and locus; of several commits only the subjects and
 * traits are used.
 */
static int describe_step(struct words *words, struct kl_rewrite *rw, const struct past *undone,
			 size_t n)
{
	words->traits = json_object();
	for (size_t i = 0; i < n; i++) {
		struct kl_commit commit = { 0 };
		KL_AUTO(kl_freep) char *subject = NULL;
		KL_AUTO(kl_freep) char *trait = NULL;
		char hex[KL_OID_HEX];
		int err = kl_repo_commit_read(&commit, rw->repo, &undone[i].commit);

		if (err < 0)
			return err;
		kl_oid_hex(hex, &undone[i].commit);
		subject = kl_trailer_subject(commit.message);
		kl_buf_addf(&words->text, "%sundo %.7s: %s", i ? "\n" : "", hex, subject);
		if (n == 1) {
			words->action = kl_trailer_get(commit.message, "Klineage-Action");
			words->mechanism = kl_trailer_get(commit.message, "Klineage-Mechanism");
			words->locus = kl_trailer_get(commit.message, "Klineage-Locus");
		}
		trait = kl_trailer_get(commit.message, "Klineage-Trait");
		if (trait)
			kl_json_set_str(words->traits, trait, "no");
		kl_commit_release(&commit);
	}
	return 0;
}

static int offer_state(struct kl_proposal **out, struct kl_rewrite *rw, const git_oid *tree,
		       const char *source, const struct past *undone, size_t n)
{
	KL_AUTO(words_release) struct words words = { .text = KL_BUF_INIT };
	struct kl_file *edit = NULL;
	size_t nedit = 0;
	int err = describe_step(&words, rw, undone, n);
	struct kl_claim claim = {
		.rewriter = "history",
		.source = source,
		.action = words.action,
		.mechanism = words.mechanism,
		.locus = words.locus,
		.text = words.text.ptr,
		.origin = "historical",
		.traits = words.traits,
	};

	if (!err)
		err = kl_rewrite_read_tree(&edit, &nedit, rw, tree);
	if (!err && nedit)
		err = kl_rewrite_offer(out, rw, edit, nedit, &claim);
	kl_edits_free(edit, nedit);
	return err;
}

static int propose_state(struct kl_proposal **out, struct kl_rewrite *rw,
			 const struct kl_history *history, size_t from)
{
	for (size_t i = from + 1; i < history->n && !*out; i++) {
		char hex[KL_OID_HEX];
		git_oid tree;
		int err = kl_repo_tree_of(&tree, rw->repo, &history->p[i].commit);

		kl_oid_hex(hex, &history->p[i].commit);
		if (!err)
			err = offer_state(out, rw, &tree, hex, &history->p[from], i - from);
		if (err < 0)
			return err;
	}
	return 0;
}

/* Append the diff from a commit back to its first parent, limited to the sources. */
static int reverse_diff(struct kl_buf *out, struct kl_rewrite *rw, const git_oid *commit)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec paths = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) git_oid *parent = NULL;
	git_oid before, after;
	size_t n;
	int err;

	if ((err = kl_repo_parents(&parent, &n, rw->repo, commit)) < 0 || !n)
		return err;
	if ((err = kl_repo_tree_of(&after, rw->repo, commit)) < 0 ||
	    (err = kl_repo_tree_of(&before, rw->repo, &parent[0])) < 0)
		return err;
	source_paths(&paths, rw->state);
	for (size_t i = 0; !err && i < paths.n; i++)
		err = kl_repo_diff(out, rw->repo, &after, &before, paths.v[i]);
	return err;
}

static int propose_revert(struct kl_proposal **out, struct kl_rewrite *rw, const struct past *past)
{
	KL_AUTO(kl_buf_release) struct kl_buf diff = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *source = NULL;
	char hex[KL_OID_HEX];
	git_oid tree;
	int err = reverse_diff(&diff, rw, &past->commit);

	if (err < 0 || !diff.len)
		return err;
	err = kl_repo_apply(&tree, rw->repo, &rw->tree, "", diff.ptr, diff.len);
	if (err == KL_ENO)
		return 0; /* the revert does not apply, since later commits build on this one */
	kl_oid_hex(hex, &past->commit);
	source = kl_asprintf("revert@%s", hex);
	return err < 0 ? err : offer_state(out, rw, &tree, source, past, 1);
}

int kl_history_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *arg)
{
	size_t at;
	int err = rw->history ? 0 : load_history(rw);

	if (err < 0)
		return err;
	at = history_cursor(rw, rw->history);
	err = propose_state(out, rw, rw->history, at);
	for (size_t i = at; !err && !*out && i + 1 < rw->history->n; i++)
		if (!rw->history->p[i].back)
			err = propose_revert(out, rw, &rw->history->p[i]);
	return err;
}
