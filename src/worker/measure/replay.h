/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_REPLAY_H
#define KL_WORKER_MEASURE_REPLAY_H

#include "worker/compare/compare.h"
#include "worker/pool/pool.h"

/*
 * replay - finds wrong answers that are right for an earlier input of the same process. Such an
 * answer was not computed but kept.
 */

/**
 * The member among `met` whose answer `got` is, within the rules; NULL: none, or
 * the answer is too plain to tell (the same value all over, a few elements).
 * `own` is the member that was asked.
 */
const struct kl_member *kl_replay_of(const struct kl_job *job, const struct kl_member *own,
				     const struct kl_member *const *met, size_t nmet,
				     const void *const *got);
/** What is to be said of it. */
void kl_replay_why(char *out, size_t cap, const struct kl_member *kept);

#endif
