/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_REPLAY_H
#define KL_WORKER_MEASURE_REPLAY_H

#include "worker/compare/compare.h"
#include "worker/measure/fresh_call.h"
#include "worker/pool/pool.h"

/*
 * replay - detects wrong answers that are the right answers to an earlier input in the same
 * process. Such an answer was kept, not computed.
 */

/**
 * Find an earlier input to which `got` is a right answer under the rules. `met` has the members
 * with which this process was called before, and `own` is the member that `got` should answer.
 * Return the last such member among `met` at the point of `own`. Return NULL if there is no such
 * member, or if the answer is too uniform to tell (one value throughout, or few elements).
 */
const struct kl_member *kl_replay_of(const struct kl_job *job, const struct kl_member *own,
				     const struct kl_member *const *met, size_t nmet,
				     const void *const *got);
/** Return true if the answer to `own` is large and varied enough to tell that it was kept. */
bool kl_replay_is_telling(const struct kl_job *job, const struct kl_member *own,
			  const void *const *got);
/**
 * Find out if a kernel in C keeps answers when its wrong answer has too few elements to tell. Call
 * it in a new process with two inputs of a performance point, at the addresses of `like`. Return
 * true if its second answer is wrong for the second input but right for the first; `pair` then has
 * both inputs. Return false also if the kernel could not be called.
 */
bool kl_replay_probe(const struct kl_member *pair[2], struct kl_mismatch *mismatch,
		     const struct kl_fresh *fresh, const struct kl_pool *pool,
		     const struct kl_trial *like);
/** Write a message into `out`: the answer is the right answer to the earlier input `kept`. */
void kl_replay_why(char *out, size_t cap, const struct kl_member *kept);

#endif
