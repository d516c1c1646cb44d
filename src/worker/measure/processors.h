/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_PROCESSORS_H
#define KL_WORKER_MEASURE_PROCESSORS_H

#include <stdbool.h>

/*
 * processors - chooses the processors on which kernels run and on which their parent times them.
 * A kernel can read the number of its processor, so it runs on the same one whether it is timed or
 * not.
 */
struct kl_processors {
	int theirs;    /* of kernels; -1: unknown, do not pin them */
	int ours;      /* of the parent, while it times; -1: there is no other */
	bool one_core; /* they are parts of one core, so that times are rough */
};

/** Choose among the processors that this thread may use. */
void kl_processors_choose(struct kl_processors *out);

#endif
