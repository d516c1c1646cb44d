/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_SOAK_H
#define KL_WORKER_STAGE_SOAK_H

#include "worker/stage/inquiry.h"

/*
 * soak - makes many calls of a kernel in C in one process, with inputs that change at random. This
 * catches kernels that are right only the first few times, or that sum in another order later on.
 * On a GPU ordinary_calls.h does this.
 *
 * The number of calls does not depend on how long they take: at the cheapest point all are made,
 * unless they would take more than a minute. Then fewer are made, and a note says so; a kernel too
 * slow even for KL_SOAK_LEAST calls is not judged (inquiry.doubt). Where calls are cheap enough,
 * the most expensive point is soaked too.
 */
#define KL_SOAK_LEAST 6

/** Returns 0 whatever the kernel did. Call it when all points have been called. */
int kl_soak(struct kl_inquiry *inquiry, json_t *notes);

#endif
