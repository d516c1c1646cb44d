/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_PROCESSORS_H
#define KL_WORKER_MEASURE_PROCESSORS_H

#include <stdbool.h>

/*
 * processors - chooses the processor that kernels run on, and the processor of the process that
 * times them. A kernel can read the number of its processor, so it runs on the same processor
 * whether it is timed or not.
 */
struct kl_processors {
	int theirs;    /* processor of kernels; -1: unknown, do not pin them */
	int ours;      /* processor of this process while it times kernels; -1: there is only one */
	bool one_core; /* both processors belong to one core, so times are rough */
};

/** Choose among the processors that this thread may use. */
void kl_processors_choose(struct kl_processors *out);

#endif
