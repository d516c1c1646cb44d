/* SPDX-License-Identifier: Apache-2.0 */
/* history - rewriter history: proposes earlier states of the kernel and reverts of its commits */
#include <string.h>

#include "base/error.h"
#include "rewrite/past.h"
#include "rewrite/rewriter.h"
#include "rewrite/undone.h"

/* maximum number of a step's commits to revert one by one; the gate must judge each revert */
#define MAX_PARTS 8

/*
 * The surface before a commit is often simpler than the surface after it. First, whole states older
 * than the last accepted one are proposed, newest first. Then the current state is proposed with
 * one commit reverted.
 *
 * A state is skipped, without judging it, if it has the tokens of a state that was visited or that
 * is known to fail. If that state did not compile, all tokens have to be equal. Detours are
 * skipped, too: the entries between two equal states, such as a commit and its revert.
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

/* Return the oldest entry (the greatest index) that a record came from, but at least `least`. */
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
 * Set *out to the oldest entry whose state was accepted as a step. If there is none, set it to the
 * newest entry that is not a backward step of an earlier walk.
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

/* One call of the rewriter, with the token digests of the states that were judged. */
struct asking {
	struct kl_rewrite *rw;
	struct kl_map known;  /* token digests of states not to propose */
	struct kl_map equals; /* token digests of states that equal the current one (undone.h) */
};

static void asking_release(struct asking *asking)
{
	kl_map_release(&asking->known);
	kl_map_release(&asking->equals);
}

static void asking_begin(struct asking *asking, struct kl_rewrite *rw)
{
	*asking = (struct asking){ .rw = rw };
	if (rw->known)
		rw->known(&asking->known, rw->payload);
	kl_undone_equals(&asking->equals, rw);
}

/* An older state to offer, or a revert of one commit. */
struct offer {
	const struct kl_file *edit;
	size_t nedit;
	const char *source;
	const struct kl_undone *undone;
	size_t restored;                   /* entry of the past whose state is restored */
	const struct kl_past_files *files; /* the state, as it was read; NULL for a revert */
	bool without;                      /* sources that the commit lacks are empty */
};

/* Name the files that were written into sources, and the sources that the state lacks. */
static void say_files(struct kl_buf *out, const struct offer *offer)
{
	const struct kl_past_files *files = offer->files;

	for (size_t i = 0; files && i < files->inlined.n; i++)
		kl_buf_addf(out, "\nwith %s of that commit", files->inlined.v[i]);
	for (size_t i = 0; files && offer->without && i < files->absent.n; i++)
		kl_buf_addf(out, "\nwithout %s", files->absent.v[i]);
}

static int offer_edit(struct kl_proposal **out, const struct asking *asking,
		      const struct offer *offer)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *proposal = NULL;
	KL_AUTO(kl_undone_words_release) struct kl_undone_words words = { .text = KL_BUF_INIT };
	struct kl_rewrite *rw = asking->rw;
	int err = kl_undone_describe(&words, rw, offer->undone, offer->restored);
	struct kl_claim claim = {
		.rewriter = "history",
		.source = offer->source,
		.action = words.action,
		.mechanism = words.mechanism,
		.locus = words.locus,
		.origin = "historical",
		.traits = words.traits,
		.commits = &words.commits,
		.folded = &offer->undone->folded,
	};

	say_files(&words.text, offer);
	claim.text = words.text.ptr;
	if (!err && offer->nedit)
		err = kl_rewrite_offer(&proposal, rw, offer->edit, offer->nedit, &claim);
	if (proposal && !kl_map_get(&asking->known, proposal->tokens) &&
	    !kl_map_get(&asking->known, proposal->all_tokens))
		*out = kl_steal(&proposal);
	return err;
}

/* Append the diff from a commit back to its first parent, limited to the sources. */
static int reverse_diff(struct kl_buf *out, struct kl_rewrite *rw, const git_oid *commit)
{
	const struct kl_strvec *paths = &rw->past->era[0].paths;
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

/*
 * Offer the current state with one commit reverted, if that applies and the commit is not a
 * backward step of an earlier walk.
 */
static int offer_revert(struct kl_proposal **out, const struct asking *asking,
			const struct kl_undone *undone, size_t restored, const char *source)
{
	struct offer offer = { .source = source, .undone = undone, .restored = restored };
	KL_AUTO(kl_buf_release) struct kl_buf diff = KL_BUF_INIT;
	struct kl_rewrite *rw = asking->rw;
	struct kl_file *edit = NULL;
	size_t n = 0;
	bool back = false;
	git_oid tree;
	int err = is_back(&back, rw->past, undone->e[0]);

	if (!err && !back)
		err = reverse_diff(&diff, rw, &rw->past->e[undone->e[0]].commit);
	if (err < 0 || !diff.len)
		return err;
	err = kl_repo_apply(&tree, rw->repo, &rw->tree, "", diff.ptr, diff.len);
	if (err == KL_ENO) {
		kl_error_clear();
		return 0; /* the revert does not apply, since later commits build on this one */
	}
	if (!err)
		err = kl_rewrite_read_tree(&edit, &n, rw, &tree);
	offer.edit = edit;
	offer.nedit = n;
	/*
	 * skip a revert that removes a source, such as that of a renaming: it would be incomplete
	 */
	if (!err && n == rw->state->nfile)
		err = offer_edit(out, asking, &offer);
	kl_edits_free(edit, n);
	return err;
}

static int propose_revert(struct kl_proposal **out, const struct asking *asking, size_t i)
{
	const struct kl_undone undone = { .e = &i, .n = 1 };
	KL_AUTO(kl_freep) char *source = NULL;
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &asking->rw->past->e[i].commit);
	source = kl_asprintf("revert@%s", hex);
	return offer_revert(out, asking, &undone, i, source);
}

/* Return true if the state of a commit was rejected because it does not compile. */
static bool is_uncompiled(const struct kl_rewrite *rw, const char *source)
{
	size_t i;
	json_t *rec;

	json_array_foreach(rw->rejections, i, rec)
		if (!strcmp(kl_json_str_or(rec, "source", ""), source) &&
		    !strcmp(kl_json_str_or(rec, "class", ""), "compile"))
			return true;
	return false;
}

/* Offer the state of an entry as it is in its commit. */
static int offer_files(struct kl_proposal **out, const struct asking *asking, struct offer *offer)
{
	KL_AUTO(kl_past_files_release) struct kl_past_files files = { 0 };
	struct kl_rewrite *rw = asking->rw;
	int err = kl_past_read(&files, rw->past, offer->restored, rw->state, offer->without);

	offer->files = &files;
	offer->edit = files.edit;
	offer->nedit = files.n;
	if (!err && (!offer->without || files.absent.n))
		err = offer_edit(out, asking, offer);
	return err;
}

/* Set *out to true if the current state and an entry's state are equal byte for byte. */
static int is_exact(bool *out, const struct kl_rewrite *rw, size_t i)
{
	KL_AUTO(kl_past_files_release) struct kl_past_files files = { 0 };
	int err = kl_past_read(&files, rw->past, i, rw->state, false);

	*out = !err;
	for (size_t k = 0; !err && k < files.n; k++) {
		const struct kl_file *file = kl_rewrite_file(rw, files.edit[k].path);

		*out = *out && file && file->len == files.edit[k].len &&
		       !memcmp(file->data, files.edit[k].data, file->len);
	}
	return err;
}

/*
 * Offer the state of entry `at`. If one commit makes the whole difference, first offer to revert
 * only this commit, so that the step has no other changes, such as comments. Sources that the
 * commit lacks keep their present bytes; if the state then does not compile, offer it without these
 * sources.
 */
static int offer_state(struct kl_proposal **out, const struct asking *asking, size_t from,
		       size_t at)
{
	struct kl_rewrite *rw = asking->rw;
	KL_AUTO(kl_undone_release) struct kl_undone undone = { 0 };
	char hex[KL_OID_HEX];
	struct offer offer = { .source = hex, .undone = &undone, .restored = at };
	bool exact = false;
	int err = kl_undone_find(&undone, rw, &asking->equals, from, at);

	kl_oid_hex(hex, &rw->past->e[at].commit);
	if (!err && !undone.gap)
		err = is_exact(&exact, rw, from);
	if (!err && !exact && undone.n == 1 && !undone.folded.n)
		err = offer_revert(out, asking, &undone, at, hex);
	if (!err && !*out)
		err = offer_files(out, asking, &offer);
	offer.without = is_uncompiled(rw, hex);
	if (!err && !*out && offer.without)
		err = offer_files(out, asking, &offer);
	return err;
}

/* Count the skipped entries before `at`. Each entry is counted once in a walk. */
static void count_skipped(struct kl_rewrite *rw, size_t at)
{
	struct kl_past *past = rw->past;

	for (size_t i = past->counted + 1; i < at; i++) {
		bool none = past->e[i].state && !*past->e[i].state;

		rw->unreadable += none;
		rw->skipped += !none;
	}
	if (at > past->counted)
		past->counted = at;
}

static int propose_state(struct kl_proposal **out, const struct asking *asking, size_t from)
{
	struct kl_past *past = asking->rw->past;
	const char *state, *whole;
	size_t at = from;
	bool failed = false;
	int err = 0;

	while (!err && !*out && at < past->n) {
		if ((err = kl_past_next(&at, past, at, failed)) < 0 || at >= past->n ||
		    (err = kl_past_state(&state, past, at)) < 0 ||
		    (err = kl_past_whole(&whole, past, at)) < 0)
			break;
		failed = kl_map_get(&asking->known, whole) && !kl_map_get(&asking->known, state);
		if (*state && !failed && !kl_map_get(&asking->known, state))
			err = offer_state(out, asking, from, at);
	}
	if (!err)
		count_skipped(asking->rw, at);
	return err;
}

int kl_history_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *arg)
{
	KL_AUTO(asking_release) struct asking asking;
	size_t at;
	int err = rw->past ? 0 : load_past(rw);

	asking_begin(&asking, rw);
	if (err < 0 || (err = find_cursor(&at, rw, rw->past)) < 0)
		return err;
	err = propose_state(out, &asking, at);
	/* skip commits that made no new state or were taken back: there is nothing to revert */
	while (!err && !*out && at < rw->past->n) {
		err = kl_past_next(&at, rw->past, at, false);
		if (!err && at < rw->past->n)
			err = propose_revert(out, &asking, at - 1);
	}
	return err;
}

int kl_history_split(struct kl_proposal **out, struct kl_rewrite *rw,
		     const struct kl_proposal *whole)
{
	KL_AUTO(asking_release) struct asking asking;
	const struct kl_strvec *commits = &whole->commits;
	int err = rw->past ? 0 : load_past(rw);

	asking_begin(&asking, rw);
	/* the oldest commit first, because the later ones build on it */
	for (size_t i = 0; !err && !*out && i < commits->n && i < MAX_PARTS; i++) {
		size_t at = kl_past_find(rw->past, commits->v[commits->n - 1 - i]);

		if (at < rw->past->n)
			err = propose_revert(out, &asking, at);
	}
	return err;
}
