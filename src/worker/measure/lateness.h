/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_LATENESS_H
#define KL_WORKER_MEASURE_LATENESS_H

#include "worker/measure/blocks.h"

/*
 * lateness - charges a candidate for work that its processes do after they report the end of a
 * call. A process always stops a little later after a call than after an empty call, and this delay
 * (kl_call.late_ns) varies, so that single calls are not charged for it. But the mean delay over
 * many calls is the same for all kernels that do no such work: if the processes of a candidate stop
 * later on average than those of its parent or of the baseline, they did work that was not
 * measured.
 *
 *	kl_lateness_begin(&lateness)			at the start of each block
 *	kl_lateness_add(&lateness, who, late_ns)	for each visit
 *	ns = kl_lateness_charge(&lateness, &blocks)	at the end; changes the candidate's times
 */
struct kl_lateness {
	double *ns[KL_BLOCKS_SUBJECTS]; /* mean delay in each block, in ns */
	double sum[KL_BLOCKS_SUBJECTS]; /* sum of the delays in the current block, in ns */
	int n[KL_BLOCKS_SUBJECTS];      /* number of visits in the current block */
	size_t blocks, alloc;
};

void kl_lateness_release(struct kl_lateness *lateness);
void kl_lateness_begin(struct kl_lateness *lateness);
void kl_lateness_add(struct kl_lateness *lateness, enum kl_blocks_who who, int64_t late_ns);
/**
 * Add the lateness that is beyond doubt to the candidate's times. In each block, take the
 * difference between the mean delay of the candidate and that of the parent or, if there is no
 * parent, of the baseline; the lateness is the lower end of the interval of these differences.
 * Return the nanoseconds added, or 0.
 */
int64_t kl_lateness_charge(struct kl_lateness *lateness, struct kl_blocks *blocks);

#endif
