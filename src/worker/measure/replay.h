/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_REPLAY_H
#define KL_WORKER_MEASURE_REPLAY_H

#include "worker/compare/compare.h"
#include "worker/pool/pool.h"

/*
 * replay - detects wrong answers that are right for an earlier input of the same process. Such an
 * answer was kept, not computed.
 */

/**
 * The member among `met` whose right answer `got` is, within the rules. NULL if there is none, or
 * if the answer is too uniform to tell (one value throughout, or few elements). `own` is the member
 * that the kernel was called with.
 */
const struct kl_member *kl_replay_of(const struct kl_job *job, const struct kl_member *own,
				     const struct kl_member *const *met, size_t nmet,
				     const void *const *got);
/** Write the message for such an answer into `out`. */
void kl_replay_why(char *out, size_t cap, const struct kl_member *kept);

#endif
