/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_TWIN_H
#define KL_WORKER_POOL_TWIN_H

#include "base/key.h"
#include "worker/pool/pool.h"

/*
 * twin - draws near-duplicate inputs, which differ from a member's just enough to change the
 * answer. If possible, one element of each input differs. A kernel that keeps answers, or data
 * derived from an input, and looks them up by a part of its inputs, mistakes the twin for its
 * original.
 *
 * Redrawn values come from the argument's own fill, so that a twin is as valid an input as any. If
 * a fill constrains a whole row (one-hot, unit), at least that row is redrawn; if it constrains the
 * whole tensor (repeat, lower, running), the whole tensor is redrawn.
 *
 *	for (t = 0; t < KL_TWIN_TRIES && !apart; t++)
 *		kl_twin_draw(input, &changed, job, m, &key, t) ... run the oracle ... kl_twin_apart()
 */
/*
 * Attempts 0 to 3 change one part (element, row or tensor) of each input. The later attempts change
 * 1/64, 1/8 and all of its parts, except the first and the last part.
 */
#define KL_TWIN_TRIES 7

/**
 * Draw the inputs of attempt `try` into the buffers `input[arg]`. Sets *changed to the number of
 * elements in the parts that differ from `member`; 0 if this attempt changes nothing.
 */
int kl_twin_draw(void *const *input, size_t *changed, const struct kl_job *job,
		 const struct kl_member *member, const struct kl_key *key, int try);
/**
 * Return 1 if the truth of `other` is so wrong as an answer to `member` that no answer is right for
 * both; 0 if not; negative on error.
 */
int kl_twin_apart(const struct kl_job *job, const struct kl_member *member,
		  const struct kl_member *other);

#endif
