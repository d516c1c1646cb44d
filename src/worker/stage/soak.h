/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_SOAK_H
#define KL_WORKER_STAGE_SOAK_H

#include "worker/stage/inquiry.h"

/*
 * soak - makes many calls of a kernel in C in one process, with inputs that change at random. This
 * finds kernels that are right only the first few times, or that later sum in another order.
 * For kernels on a GPU, ordinary_calls.h does this.
 *
 * The soak is at the point with the cheapest calls. A slow kernel gets as many calls as a fast one,
 * so that it cannot end the soak early. Only if all calls would take more than a minute are fewer
 * made; if they are few, a note says so. If a minute is too short even for KL_SOAK_LEAST calls, no
 * call is made, and inquiry.doubt says why. A second soak is at the point with the most expensive
 * calls that are still cheap enough.
 */
#define KL_SOAK_LEAST 6

/** Soak a candidate that has been called at all points. Return 0 whatever the kernel did. */
int kl_soak(struct kl_inquiry *inquiry, json_t *notes);

#endif
