/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_POISON_H
#define KL_WORKER_SUBJECT_POISON_H

#include "job/job.h"

/*
 * poison - what outputs hold before a call: random words, each `(random & keep) | set`.
 *
 * Of two kinds. Bits that no honest answer has, whatever the neighbours of an element: for floats
 * NaNs with a payload, for integers far from any index or small value. And bits that many an honest
 * answer has, as a buffer that was used before: floats of magnitude 1/4 to 1/2 and 1 to 2, small
 * integers.
 */
void kl_poison_mask(uint64_t *keep, uint64_t *set, enum kl_dtype dtype, bool like_an_answer);

#endif
