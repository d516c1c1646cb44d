/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_REPLAY_H
#define KL_WORKER_MEASURE_REPLAY_H

#include "worker/compare/compare.h"
#include "worker/pool/pool.h"

/*
 * replay - detects wrong answers that are the right answers to an earlier input in the same
 * process. Such an answer was kept, not computed.
 */

/**
 * Find an earlier input to which `got` is a right answer under the rules. `met`: the members with
 * which this process was called before; `own`: the member that `got` should answer. Return the last
 * such member among `met` at the point of `own`. NULL: there is none, or the answer is too uniform
 * to tell (one value throughout, or few elements).
 */
const struct kl_member *kl_replay_of(const struct kl_job *job, const struct kl_member *own,
				     const struct kl_member *const *met, size_t nmet,
				     const void *const *got);
/** Write a message into `out`: the answer is the right answer to the earlier input `kept`. */
void kl_replay_why(char *out, size_t cap, const struct kl_member *kept);

#endif
