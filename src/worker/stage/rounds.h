/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_ROUNDS_H
#define KL_WORKER_STAGE_ROUNDS_H

#include "worker/stage/inquiry.h"

/*
 * rounds - decides which calls the candidate gets at a point: which inputs, in which order, how many
 * in one process.
 *
 * Every input is called at least once, unless that would take more than a minute (cuda: 3 s). Unless
 * calls are slow, further calls follow: inputs again, and inputs right after those that differ least
 * from them. At a performance point kernels in C follow the scripts of the profile (measure/script.h).
 */

/* What was left out at a point because calls seemed slow. */
struct kl_rounds_left {
	bool further;   /* all but the first call of each input */
	size_t members; /* inputs that were not called at all */
	size_t asked;   /* inputs that were called */
};

/**
 * Call the candidate at a performance point, or at any other. `alone`: no other point can show that
 * it is nondeterministic. Returns 0 whatever the kernel did.
 */
int kl_rounds_perf(struct kl_rounds_left *left, struct kl_inquiry *inquiry,
		   const struct kl_point *pt, bool alone);
/**
 * Once more at a performance point, in a process that begins at another: unless calls are slow. For
 * kernels in C.
 */
int kl_rounds_perf_again(struct kl_inquiry *inquiry, const struct kl_point *pt);
int kl_rounds_also(struct kl_rounds_left *left, struct kl_inquiry *inquiry,
		   const struct kl_point *pt);

#endif
