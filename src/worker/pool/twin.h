/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_TWIN_H
#define KL_WORKER_POOL_TWIN_H

#include "worker/pool/pool.h"

/*
 * twin - inputs that differ from a member's in as little as changes the answer: one element of
 * each input, where that is enough. A kernel that keeps answers, or what it made of one input, by
 * a part of what it is given takes the one for the other.
 *
 * What is drawn anew comes from the argument's own fill, so that a twin is as
 * good an input as any. Where a fill promises something of a whole row (one-hot,
 * unit) the row is the least that changes; where of the whole tensor (repeat), all of it.
 *
 *	for (t = 0; t < KL_TWIN_TRIES && !apart; t++)
 *		kl_twin_draw(input, &changed, job, m, seed, t) ... ask the oracle ... kl_twin_apart()
 */
#define KL_TWIN_TRIES 7 /* 0..3: one element of each input; then 1/64, 1/8, all but the ends */

/**
 * Inputs of try `turn` into the buffers `input[arg]`, and how many elements have other
 * bytes than those of `member`; 0: this try has no other.
 */
int kl_twin_draw(void *const *input, size_t *changed, const struct kl_job *job,
		 const struct kl_member *member, uint64_t seed, int try);
/**
 * Do the rules tell the truth of `other` from a right answer to `member`, however wrong
 * within its bounds that is? 1 or 0, negative: an error.
 */
int kl_twin_apart(const struct kl_job *job, const struct kl_member *member,
		  const struct kl_member *other);

#endif
