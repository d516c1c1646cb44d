/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_SCOUT_H
#define KL_WORKER_STAGE_SCOUT_H

#include "worker/stage/inquiry.h"

/*
 * scout - calls the candidate at untimed points before all other calls (stage correct, backend
 * cuda).
 *
 * The times of these calls predict how long other calls may take, so that a call that never ends is
 * stopped sooner (measure/time_limit.h). The answers are not judged: the performance points must be
 * judged first, to tell a kernel that is wrong everywhere from one that is wrong only at an edge.
 */

/**
 * Call the candidate once at up to three points that are not timed: the smallest, one in the
 * middle, the largest. Return 0 whatever the kernel did.
 */
int kl_scout(struct kl_inquiry *inquiry);

#endif
