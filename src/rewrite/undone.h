/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_UNDONE_H
#define KL_REWRITE_UNDONE_H

#include "rewrite/past.h"
#include "rewrite/rewriter.h"

/*
 * undone - the commits that a step to an older state takes back, and how they describe the step.
 *
 * A step to an older state is named by the commits that make the difference. A commit that made no
 * new state is not among them. Nor are commits whose undoing was judged to change nothing, because
 * it leads to a state that equals the one from which the step starts. If their undoing changed the
 * machine code but neither speed nor generality, they are `folded`: the step takes them back along
 * with the others.
 */
struct kl_undone {
	size_t *e; /* entries of the past, newest first */
	size_t n, alloc;
	struct kl_strvec folded; /* ids of the folded commits */
	bool gap;                /* the step takes back more than `e`, such as comments */
};

/** What `history` says of a step; owns its members. */
struct kl_undone_words {
	struct kl_buf text;
	char *action, *mechanism, *locus;
	json_t *traits;
	struct kl_strvec commits;
};

/** Why a state equals the one that a step starts from (kl_undone_equals). */
enum kl_undone_equal { KL_UNDONE_SAME_CODE = 1, KL_UNDONE_NO_EFFECT };

/**
 * Collect the older states that were judged to be equal to the current one: their token digests,
 * each with a kl_undone_equal as its value.
 */
void kl_undone_equals(struct kl_map *out, const struct kl_rewrite *rw);
/**
 * Find the commits that lead from the state of entry `at` to that of `from`, without detours and
 * without those that were reverted by a step of their own.
 */
int kl_undone_find(struct kl_undone *out, const struct kl_rewrite *rw, const struct kl_map *equals,
		   size_t from, size_t at);
void kl_undone_release(struct kl_undone *undone);

/**
 * Describe a step by the commits that it undoes. If it is one commit, its trailers also give the
 * action, mechanism and locus; of several commits only the range, the subjects and the traits are
 * used. `restored` is the entry of the state that they lead to.
 */
int kl_undone_describe(struct kl_undone_words *out, const struct kl_rewrite *rw,
		       const struct kl_undone *undone, size_t restored);
void kl_undone_words_release(struct kl_undone_words *words);

#endif
