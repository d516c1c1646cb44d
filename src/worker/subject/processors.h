/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_PROCESSORS_H
#define KL_WORKER_SUBJECT_PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * processors - chooses the processor that kernels run on, and the processor of the process that
 * times them. A kernel can read the number of its processor, so it runs on the same processor
 * whether it is timed or not.
 */
struct kl_processors {
	int theirs; /* processor of kernels; -1 if unknown, so that they are not pinned */
	/* processor of this process while it times kernels; -1 if there is only one */
	int ours;
	bool one_core; /* both processors belong to one core, so times are rough */
};

/** Choose among the processors that this thread may use. */
void kl_processors_choose(struct kl_processors *out);

/**
 * Choose processors for the `n` threads of a kernel whose first thread runs on `cpu`, among those
 * that the last kl_processors_choose() found; out[i] is for thread i, i = 1 ...; -1 for any. The
 * processor of the process that times them is taken last. Return the number of processors that may
 * be used: if it is less than n, some threads share a processor; if it is n, one thread shares the
 * processor of the process that times them.
 */
uint32_t kl_processors_spread(int16_t *out, uint32_t n, int cpu);

/** Let the calling thread run only on processor `cpu`, or on any processor if `cpu` is below 0. */
int kl_processors_pin(int cpu);

#endif
