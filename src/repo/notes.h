/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_NOTES_H
#define KL_REPO_NOTES_H

#include "repo/refs.h"

/*
 * notes - stores gate events as lines of git notes on the commits that they judge.
 *
 * The notes ref is refs/notes/klineage/gate. Each line is one immutable event (JSON Lines),
 * identified by its "id". Two notes merge by union, so the ref's merge strategy is cat_sort_uniq.
 * `git fast-import` writes the new notes commit on a temporary ref, starting from the old tip; then
 * a transaction (refs.h) moves the notes ref. If another process has moved it first, the lines are
 * added again to the new notes after a random delay.
 */
#define KL_NOTES_GATE "refs/notes/klineage/gate"

struct kl_note_line {
	git_oid commit;
	const char *line; /* without a newline */
};

/**
 * Add lines to the notes of their commits, except lines with an event id that the note already has.
 * Return KL_ECHANGED or KL_EBUSY if other processes kept moving or locking the ref for 12 seconds.
 */
int kl_notes_add(struct kl_repo *repo, const char *ref, const struct kl_note_line *line, size_t n);

/**
 * Like kl_notes_add(), but does not move the ref, so that the caller can move it in a transaction.
 * `*tip` is the new notes commit, or the old one if no line was new; `*old` is the ref's old value
 * (zero if it did not exist). If the transaction fails with KL_ECHANGED, call this again.
 */
int kl_notes_prepare(git_oid *tip, git_oid *old, struct kl_repo *repo, const char *ref,
		     const struct kl_note_line *line, size_t n);

/** The commit and the blob of a note. */
struct kl_note_at {
	git_oid commit, blob;
};
/**
 * List the notes of a ref, sorted by commit; if a commit has several notes, the deepest in the tree
 * comes first. `*tip` is the value of the ref, zero if it does not exist. The caller frees the
 * array.
 */
int kl_notes_list(struct kl_note_at **out, size_t *n, git_oid *tip, struct kl_repo *repo,
		  const char *ref);

/**
 * A function that returns true if this line from the notes of the other side is to be kept. `line`
 * has no newline.
 */
typedef bool kl_notes_accept(const char *line, size_t len, void *payload);

struct kl_notes_merged {
	size_t events, commits; /* number of new events, and of commits that got new events */
	size_t refused;         /* number of lines of `theirs` that `accept` refused */
};

/**
 * Merge two tips of a notes ref, event by event. All lines of `ours` are kept, and the lines of
 * `theirs` for which `accept` returns true; the other lines of `theirs` are not trusted. `*tip`
 * becomes `ours` if it contains `theirs`; `theirs` if it contains `ours` and no line was refused;
 * otherwise a merge commit of both. The order of lines in a note that both sides changed does not
 * depend on which side merges. `ours` is zero if there are no notes here yet. Does not move the
 * ref.
 */
int kl_notes_merge(git_oid *tip, struct kl_notes_merged *done, struct kl_repo *repo,
		   const git_oid *ours, const git_oid *theirs, kl_notes_accept *accept,
		   void *payload);

/**
 * Append the note of one commit, or nothing if it has none. Handles fanout directories, and joins
 * notes of one commit at different depths as git does.
 */
int kl_notes_read(struct kl_buf *out, struct kl_repo *repo, const char *ref, const git_oid *commit);

/**
 * Call `fn` once for each commit that has a note, in the order of commit ids. If `fn` does not
 * return 0, stop and return its value.
 */
int kl_notes_each(struct kl_repo *repo, const char *ref,
		  int (*fn)(const git_oid *commit, const char *text, size_t len, void *payload),
		  void *payload);

#endif
