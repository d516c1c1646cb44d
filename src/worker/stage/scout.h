/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_SCOUT_H
#define KL_WORKER_STAGE_SCOUT_H

#include "worker/stage/inquiry.h"

/*
 * scout - calls the candidate at small points before all others (stage correct, backend cuda).
 *
 * How long these calls take predicts how long others may take, so that one that never ends is known
 * sooner (measure/time_limit.h). Their answers are not judged: whether a kernel is wrong everywhere
 * or at an edge only shows if the performance points are judged first.
 */

/**
 * Call the candidate once at up to three points that are not timed: the smallest, one in the middle,
 * the largest. Returns 0 whatever the kernel did.
 */
int kl_scout(struct kl_inquiry *inquiry);

#endif
