/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_RETRIAL_H
#define KL_WORKER_STAGE_RETRIAL_H

#include "worker/stage/inquiry.h"

/*
 * retrial - makes a failure one that can be replayed. The inputs of a live session have no seed:
 * somebody who knew it could compute all inputs and answers, and a repaired kernel is judged on the
 * same pool. So the member that failed is drawn again, from a seed of its own, and the kernel is
 * called with it once, in a new process. If that fails with the same class, it is what the result
 * reports, seed included: nothing that the report says is from the pool.
 */

/**
 * Try the failure of a live session again. If the same class of failure shows again, report the new
 * failure, with its seed, instead; otherwise leave the old one as it is and add a note that it has
 * no seed.
 */
void kl_retrial(struct kl_inquiry *inquiry, json_t *notes);

#endif
