/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_MEMBER_H
#define KL_WORKER_COMPARE_MEMBER_H

#include "job/job.h"

/*
 * member - one set of inputs with its known answers: what the pool (pool.h) has, what a kernel is
 * called with, what its answers are compared with (compare.h). All memory belongs to the pool.
 */

/*
 * What a rule measures its groups against, one for each rule of the
 * job: over each group the largest and the root-mean-square honest error
 * (noise), or the norm of the truth as `rms` times sqrt(n) (rel-l2).
 */
struct kl_yard {
	size_t ngroup; /* 0: the rule has no groups */
	double *max, *rms;
};

struct kl_member {
	const struct kl_point *point;
	char band[32];                  /* "noise", "twin", "exact0", "band1", "scale-up", ... */
	int draw;                       /* which of several members of that band */
	bool exact;                     /* answers must be bit-equal */
	uint64_t seed;                  /* the pool's: job->seed of a replay */
	const void *input[KL_MAX_ARGS]; /* in the kernel's dtype; NULL if not in/inout */
	/* outputs: double for floats, the dtype for integers */
	const void *truth[KL_MAX_ARGS];
	const void *honest[KL_MAX_ARGS]; /* outputs: float for floats, NULL for integers */
	/* rule elementwise: double, oracle on |inputs|; or NULL */
	const void *absum[KL_MAX_ARGS];
	const struct kl_yard *yard; /* job->nrule; NULL: kl_compare makes its own */
};

#endif
