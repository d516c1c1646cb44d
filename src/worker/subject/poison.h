/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_POISON_H
#define KL_WORKER_SUBJECT_POISON_H

#include "job/job.h"

/*
 * poison - the contents of outputs before a call: random words, each `(random & keep) | set`.
 *
 * There are two kinds. The first is no plausible answer: floats are NaNs with a payload, and
 * integers are far larger than any index. Integers of 8 and 16 bits are random, since each value
 * can be an answer. The second looks like the answer of an earlier call: floats of magnitude 1/4 to
 * 1/2 or 1 to 2, integers below 64.
 */
/**
 * Set *keep and *set to the masks for elements of `dtype`; `like_an_answer` chooses the second
 * kind.
 */
void kl_poison_mask(uint64_t *keep, uint64_t *set, enum kl_dtype dtype, bool like_an_answer);

#endif
