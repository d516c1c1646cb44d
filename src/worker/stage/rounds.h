/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_ROUNDS_H
#define KL_WORKER_STAGE_ROUNDS_H

#include "worker/stage/inquiry.h"

/*
 * rounds - decides which calls the candidate gets at a point: inputs, order, and calls per process.
 *
 * The kernel is called with every input at least once, unless that would take more than a minute
 * (cuda: 3 s). Unless calls are slow, it is called again with the same inputs, in particular right
 * after a call with the twin of an input. At a performance point, kernels in C are called in the
 * order of a script, as in the profile (measure/script.h).
 */

/*
 * The calls that were skipped at a point because calls seemed slow, and the inputs answered there.
 */
struct kl_rounds_left {
	bool further;   /* calls after the first call of each input were skipped */
	size_t members; /* number of inputs that were not called (if no call failed) */
	size_t asked;   /* number of inputs that were answered correctly */
};

/**
 * Call the candidate at a performance point. `alone` is true if the job has only performance
 * points, so that a nondeterministic kernel must be found here. Return 0 whatever the kernel did.
 */
int kl_rounds_perf(struct kl_rounds_left *left, struct kl_inquiry *inquiry,
		   const struct kl_point *pt, bool alone);
/**
 * Call a kernel in C at a performance point again, in a process that is first called at another
 * point. Does nothing if calls are slow or no other point is small enough.
 */
int kl_rounds_perf_again(struct kl_inquiry *inquiry, const struct kl_point *pt);
/** Call the candidate at a point that is not timed. Return 0 whatever the kernel did. */
int kl_rounds_also(struct kl_rounds_left *left, struct kl_inquiry *inquiry,
		   const struct kl_point *pt);

#endif
