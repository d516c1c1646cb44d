/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_TWIN_H
#define KL_WORKER_POOL_TWIN_H

#include "base/key.h"
#include "worker/pool/pool.h"

/*
 * twin - near-duplicate inputs: they differ from a member's by just enough to change the answer. If
 * possible, one element of each input differs. A kernel that keeps its answers, or data derived
 * from an input, under a key made from a part of its inputs will mistake one for the other.
 *
 * Redrawn values come from the argument's own fill, so that a twin is as valid an input as any. If
 * a fill constrains a whole row (one-hot, unit), at least that row is redrawn; if it constrains the
 * whole tensor (repeat, lower, running), all of it is.
 *
 *	for (t = 0; t < KL_TWIN_TRIES && !apart; t++)
 *		kl_twin_draw(input, &changed, job, m, &key, t) ... run the oracle ... kl_twin_apart()
 */
/*
 * attempts 0 to 3 change one part of each input; the later ones 1/64, 1/8 and all, but not its ends
 */
#define KL_TWIN_TRIES 7

/**
 * Draw the inputs of attempt `try` into the buffers `input[arg]`. *changed is the number of
 * elements in the parts that differ from `member`; 0: this attempt changes nothing.
 */
int kl_twin_draw(void *const *input, size_t *changed, const struct kl_job *job,
		 const struct kl_member *member, const struct kl_key *key, int try);
/**
 * Returns 1 if the rules reject the truth of `other` as an answer to `member` by so much that no
 * answer is right for both; 0 if not; negative on error.
 */
int kl_twin_apart(const struct kl_job *job, const struct kl_member *member,
		  const struct kl_member *other);

#endif
