/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_POISON_H
#define KL_WORKER_SUBJECT_POISON_H

#include "job/job.h"

/*
 * poison - the contents of outputs before a call: random words, each `(random & keep) | set`.
 *
 * There are two kinds. One has bits that no honest answer has: NaNs with a payload for floats,
 * integers far from any index or small value. Integers of 8 and 16 bits are random, since each
 * value can be an answer. The other has bits that many an honest answer has, like a buffer that was
 * used before: floats of magnitude 1/4 to 1/2 and 1 to 2, small integers.
 */
void kl_poison_mask(uint64_t *keep, uint64_t *set, enum kl_dtype dtype, bool like_an_answer);

#endif
