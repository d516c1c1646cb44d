/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_NOTES_H
#define KL_REPO_NOTES_H

#include "repo/refs.h"

/*
 * notes - gate events as lines of a note on the commit they judge, on
 * refs/notes/klineage/gate. One event a line (JSON Lines), immutable, named
 * by its "id": two notes merge by union, so the ref's merge strategy is
 * cat_sort_uniq. Written by `git fast-import` onto a temporary ref from the
 * old tip, then moved in the transaction of refs.h; when somebody else was
 * quicker: read again, union, retry with jitter.
 */
#define KL_NOTES_GATE "refs/notes/klineage/gate"

struct kl_note_line {
	git_oid commit;
	const char *line; /* no newline */
};

/** Add lines; those whose id is on the commit already are skipped. */
int kl_notes_add(struct kl_repo *repo, const char *ref, const struct kl_note_line *line, size_t n);

/**
 * The same, but leaves the move to a transaction of the caller: `*tip` is the
 * new notes commit (unchanged if nothing was new), `*old` what the ref was at (zero: none).
 * If the transaction answers KL_ECHANGED, prepare again.
 */
int kl_notes_prepare(git_oid *tip, git_oid *old, struct kl_repo *repo, const char *ref,
		     const struct kl_note_line *line, size_t n);

/** Where the notes of a ref are, without their texts: by commit, deeper ones first. */
struct kl_note_at {
	git_oid commit, blob;
};
/** `*tip` is what the ref is at, zero if there is none; the array is the caller's. */
int kl_notes_list(struct kl_note_at **out, size_t *n, git_oid *tip, struct kl_repo *repo,
		  const char *ref);

/** Is a line of somebody else's notes to be taken? No newline in it. */
typedef bool kl_notes_accept(const char *line, size_t len, void *payload);

struct kl_notes_merged {
	size_t events, commits; /* that are new here */
	size_t refused;         /* lines of theirs that were left */
};

/**
 * Unite two tips of a notes ref by event: no line of ours is lost, and of theirs those that
 * `accept` takes (all of theirs is hostile until then). `*tip` is ours if it has all of theirs;
 * theirs if that has all of ours and nothing was refused; else a merge of both, where lines of
 * notes that both changed stand in an order that does not depend on who merged. `ours` zero: none
 * yet. Moves no ref.
 */
int kl_notes_merge(git_oid *tip, struct kl_notes_merged *done, struct kl_repo *repo,
		   const git_oid *ours, const git_oid *theirs, kl_notes_accept *accept,
		   void *payload);

/**
 * The note text of one commit (fanout handled, mixed depths concatenated as
 * git does); "" if none.
 */
int kl_notes_read(struct kl_buf *out, struct kl_repo *repo, const char *ref, const git_oid *commit);

/**
 * Every note of the ref, one callback a note, in tree order; non-zero from
 * `fn` ends and is returned.
 */
int kl_notes_each(struct kl_repo *repo, const char *ref,
		  int (*fn)(const git_oid *commit, const char *text, size_t len, void *payload),
		  void *payload);

#endif
