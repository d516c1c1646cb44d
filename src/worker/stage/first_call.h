/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_FIRST_CALL_H
#define KL_WORKER_STAGE_FIRST_CALL_H

#include "worker/pool/pool.h"

/*
 * first_call - the call that the replay of a failure begins with. Rounds are in random order, so a
 * replay would otherwise meet another failure of the same kernel first. The seed of a failure is
 * chosen such that it tells which call failed; all such seeds begin with the same 16 bits.
 */

/**
 * Draw a seed that names the call of `of` in a replay of `job`. A replay has all members that could
 * be chosen, and perhaps not those that cannot be made: the seed names the call in either case. 0:
 * the job has no such member.
 */
uint64_t kl_first_call_seed(const struct kl_job *job, const struct kl_member *of, bool right);
/** Get the call that a seed names; false if it names none. */
bool kl_first_call_of(size_t *member, bool *right, const struct kl_pool *pool, uint64_t seed);

#endif
