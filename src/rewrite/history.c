/* SPDX-License-Identifier: Apache-2.0 */
/* history - rewriter history: proposes earlier states of the kernel and reverts of its commits */
#include <string.h>

#include "base/error.h"
#include "rewrite/past.h"
#include "rewrite/rewriter.h"

/*
 * The surface before a commit is often simpler than the surface after it. First, whole states older
 * than the last accepted one are proposed, newest first. Then the current state is proposed with
 * one commit reverted.
 *
 * States with the tokens of a state that was visited, or that is known to fail, are passed over
 * without judging them. So are detours: what lies between two equal states, such as a commit and
 * its revert.
 *
 * Reverting a backward step of an earlier walk would be an optimization, so such commits and the
 * states they led to are skipped.
 */

/* Set *out to true if an entry's commit is a backward step of an earlier walk. */
static int is_back(bool *out, struct kl_past *past, size_t i)
{
	KL_AUTO(kl_freep) char *direction = NULL;
	struct kl_commit commit = { 0 };
	int err = kl_repo_commit_read(&commit, past->repo, &past->e[i].commit);

	if (err < 0)
		return err;
	direction = kl_trailer_get(commit.message, "Klineage-Direction");
	*out = direction && !strcmp(direction, "back");
	kl_commit_release(&commit);
	return 0;
}

/* Return the greatest entry that one of the records came from; `least` if none is greater. */
static size_t oldest_source(const struct kl_past *past, const json_t *records, size_t least)
{
	json_t *rec;
	size_t i;

	json_array_foreach(records, i, rec) {
		size_t at;

		if (strcmp(kl_json_str_or(rec, "rewriter", ""), "history"))
			continue;
		at = kl_past_find(past, kl_json_str_or(rec, "source", ""));
		if (at < past->n && at > least)
			least = at;
	}
	return least;
}

/*
 * Set *out to the oldest entry whose state was accepted as a step; if there is none, to the newest
 * one that is not a backward step of an earlier walk.
 */
static int find_cursor(size_t *out, const struct kl_rewrite *rw, struct kl_past *past)
{
	size_t at = 0;
	bool back = true;

	while (at < past->n) {
		int err = is_back(&back, past, at);

		if (err < 0)
			return err;
		if (!back)
			break;
		at++;
	}
	*out = oldest_source(past, rw->steps, at);
	return 0;
}

static int load_past(struct kl_rewrite *rw)
{
	size_t at;
	int err = kl_past_load(&rw->past, rw->repo, &rw->expert, rw->state);

	if (!err)
		err = find_cursor(&at, rw, rw->past);
	if (!err)
		rw->past->counted = oldest_source(rw->past, rw->rejections, at);
	return err;
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

/* The commits that a step undoes, as entries of the past, newest first. */
struct undone {
	size_t *e;
	size_t n, alloc;
};

static void undone_release(struct undone *undone)
{
	free(undone->e);
}

static void add_undone(struct undone *undone, size_t i)
{
	KL_GROW(undone->e, undone->n + 1, undone->alloc);
	undone->e[undone->n++] = i;
}

/* Describe the part of a step that undoes one commit. If it is the only one, its trailers count. */
static int describe_commit(struct words *words, struct kl_rewrite *rw, size_t i, bool only)
{
	struct kl_commit commit = { 0 };
	KL_AUTO(kl_freep) char *subject = NULL;
	KL_AUTO(kl_freep) char *trait = NULL;
	char hex[KL_OID_HEX];
	int err = kl_repo_commit_read(&commit, rw->repo, &rw->past->e[i].commit);

	if (err < 0)
		return err;
	kl_oid_hex(hex, &commit.oid);
	subject = kl_trailer_subject(commit.message);
	kl_buf_addf(&words->text, "%sundo %.7s: %s", words->text.len ? "\n" : "", hex, subject);
	if (only) {
		words->action = kl_trailer_get(commit.message, "Klineage-Action");
		words->mechanism = kl_trailer_get(commit.message, "Klineage-Mechanism");
		words->locus = kl_trailer_get(commit.message, "Klineage-Locus");
	}
	trait = kl_trailer_get(commit.message, "Klineage-Trait");
	if (trait)
		kl_json_set_str(words->traits, trait, "no");
	kl_commit_release(&commit);
	return 0;
}

/*
 * Describe a step by the commits that it undoes, newest first. If there is only one commit, its
 * trailers also give the action, mechanism and locus; of several commits only the subjects and
 * traits are used.
 */
static int describe_step(struct words *words, struct kl_rewrite *rw, const struct undone *undone)
{
	int err = 0;

	words->traits = json_object();
	for (size_t i = 0; !err && i < undone->n; i++)
		err = describe_commit(words, rw, undone->e[i], undone->n == 1);
	return err;
}

/* One call of the rewriter, and the token digests of states not to propose. */
struct asking {
	struct kl_rewrite *rw;
	struct kl_map known;
};

static int offer_edit(struct kl_proposal **out, const struct asking *asking,
		      const struct kl_file *edit, size_t nedit, const char *source,
		      const struct undone *undone)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *proposal = NULL;
	KL_AUTO(words_release) struct words words = { .text = KL_BUF_INIT };
	struct kl_rewrite *rw = asking->rw;
	int err = describe_step(&words, rw, undone);
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

	if (!err && nedit)
		err = kl_rewrite_offer(&proposal, rw, edit, nedit, &claim);
	if (proposal && !kl_map_get(&asking->known, proposal->tokens))
		*out = kl_steal(&proposal);
	return err;
}

/* Collect the commits that lead from the state of entry `at` to that of `from`, without detours. */
static int find_undone(struct undone *undone, struct kl_past *past, size_t from, size_t at)
{
	size_t i = from;
	int err = 0;

	while (!err && i < at) {
		err = kl_past_next(&i, past, i);
		if (!err)
			add_undone(undone, i - 1);
	}
	return err;
}

static int offer_state(struct kl_proposal **out, const struct asking *asking, size_t from,
		       size_t at)
{
	struct kl_rewrite *rw = asking->rw;
	KL_AUTO(undone_release) struct undone undone = { 0 };
	struct kl_file *edit = NULL;
	size_t n = 0;
	char hex[KL_OID_HEX];
	int err = find_undone(&undone, rw->past, from, at);

	kl_oid_hex(hex, &rw->past->e[at].commit);
	if (!err)
		err = kl_past_read(&edit, &n, rw->past, at, rw->state);
	if (!err)
		err = offer_edit(out, asking, edit, n, hex, &undone);
	kl_edits_free(edit, n);
	return err;
}

/* Count the entries before `at` that are passed over, each once in a walk. */
static void count_skipped(struct kl_rewrite *rw, size_t at)
{
	struct kl_past *past = rw->past;

	if (at <= past->counted)
		return;
	rw->skipped += at - past->counted - 1;
	past->counted = at;
}

static int propose_state(struct kl_proposal **out, const struct asking *asking, size_t from)
{
	struct kl_past *past = asking->rw->past;
	const char *state;
	size_t at = from;
	int err = 0;

	while (!err && !*out && at < past->n) {
		if ((err = kl_past_next(&at, past, at)) < 0 || at >= past->n ||
		    (err = kl_past_state(&state, past, at)) < 0)
			break;
		if (*state && !kl_map_get(&asking->known, state))
			err = offer_state(out, asking, from, at);
	}
	if (!err)
		count_skipped(asking->rw, at);
	return err;
}

/* Append the diff from a commit back to its first parent, limited to the sources. */
static int reverse_diff(struct kl_buf *out, struct kl_rewrite *rw, const git_oid *commit)
{
	const struct kl_strvec *paths = &rw->past->paths;
	KL_AUTO(kl_freep) git_oid *parent = NULL;
	git_oid before, after;
	size_t n;
	int err;

	if ((err = kl_repo_parents(&parent, &n, rw->repo, commit)) < 0 || !n)
		return err;
	if ((err = kl_repo_tree_of(&after, rw->repo, commit)) < 0 ||
	    (err = kl_repo_tree_of(&before, rw->repo, &parent[0])) < 0)
		return err;
	for (size_t i = 0; !err && i < paths->n; i++)
		err = kl_repo_diff(out, rw->repo, &after, &before, paths->v[i]);
	return err;
}

static int propose_revert(struct kl_proposal **out, const struct asking *asking, size_t i)
{
	struct kl_rewrite *rw = asking->rw;
	KL_AUTO(kl_buf_release) struct kl_buf diff = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *source = NULL;
	const struct undone undone = { .e = &i, .n = 1 };
	struct kl_file *edit = NULL;
	size_t n = 0;
	char hex[KL_OID_HEX];
	bool back = false;
	git_oid tree;
	int err = is_back(&back, rw->past, i);

	if (!err && !back)
		err = reverse_diff(&diff, rw, &rw->past->e[i].commit);
	if (err < 0 || !diff.len)
		return err;
	err = kl_repo_apply(&tree, rw->repo, &rw->tree, "", diff.ptr, diff.len);
	if (err == KL_ENO)
		return 0; /* the revert does not apply, since later commits build on this one */
	kl_oid_hex(hex, &rw->past->e[i].commit);
	source = kl_asprintf("revert@%s", hex);
	if (!err)
		err = kl_rewrite_read_tree(&edit, &n, rw, &tree);
	if (!err)
		err = offer_edit(out, asking, edit, n, source, &undone);
	kl_edits_free(edit, n);
	return err;
}

int kl_history_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *arg)
{
	struct asking asking = { .rw = rw };
	size_t at;
	int err = rw->past ? 0 : load_past(rw);

	if (err < 0 || (err = find_cursor(&at, rw, rw->past)) < 0)
		return err;
	if (rw->known)
		rw->known(&asking.known, rw->payload);
	err = propose_state(out, &asking, at);
	/* commits that made no new state, or were taken back, have nothing to revert */
	while (!err && !*out && at < rw->past->n) {
		err = kl_past_next(&at, rw->past, at);
		if (!err && at < rw->past->n)
			err = propose_revert(out, &asking, at - 1);
	}
	kl_map_release(&asking.known);
	return err;
}
