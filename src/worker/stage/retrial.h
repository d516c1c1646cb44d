/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_RETRIAL_H
#define KL_WORKER_STAGE_RETRIAL_H

#include "worker/stage/inquiry.h"

/*
 * retrial - repeats a failure of a live session in a way that can be replayed. A live session has
 * no seed that could be reported: whoever knew the seed could compute all inputs and answers, and a
 * repaired kernel is judged on the same pool. So the member that failed is drawn again from a new
 * seed, and the kernel is called once with the new member, in a new process. If this call fails
 * with the same class, the result reports the new failure and its seed, which reveal nothing about
 * the pool. For a member of a further band several seeds are tried, since the seed decides which
 * values the band changes.
 */

/**
 * Try to repeat the failure of a live session; without a failure, do nothing. If a new call fails
 * with the same class, replace the failure by the new one, which has a seed. Otherwise keep the
 * failure, without its numbers if they are secret (measure/failure.h), and add a note that it has
 * no seed.
 */
void kl_retrial(struct kl_inquiry *inquiry, json_t *notes);

#endif
