/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_FIRST_CALL_H
#define KL_WORKER_STAGE_FIRST_CALL_H

#include "worker/pool/pool.h"

/*
 * first_call - makes the seed of a failure name the call that failed. A replay begins with this
 * call; otherwise it could meet another failure of the same kernel first, since rounds are
 * in random order. All seeds that name a call begin with the same 16 bits.
 */

/**
 * Draw a seed that names, in a replay of `job`, the call with member `of` on guard side `right`.
 * The seed names this call even if the replay lacks members that could not be made. Return 0 if the
 * job has no such member.
 */
uint64_t kl_first_call_seed(const struct kl_job *job, const struct kl_member *of, bool right);
/** Find the call that a seed names. Return false if it names no call. */
bool kl_first_call_of(size_t *member, bool *right, const struct kl_pool *pool, uint64_t seed);

#endif
