/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_MEMBER_H
#define KL_WORKER_COMPARE_MEMBER_H

#include "job/job.h"

/*
 * member - one set of inputs with its known answers. The pool (pool.h) holds members, a kernel is
 * called with one, and its answers are compared with it (compare.h). All memory belongs to the
 * pool.
 */

/*
 * Tolerances of a rule's groups, one struct for each rule of the job: for each group the largest
 * honest error and its root mean square (noise), or the largest magnitude of the truth and its root
 * mean square (rel-l2).
 */
struct kl_tolerance {
	size_t ngroup; /* 0: the rule is neither noise nor rel-l2 */
	double *max, *rms;
};

/* The inputs of a member that are no numbers. */
enum kl_odd { KL_ODD_NONE, KL_ODD_INF, KL_ODD_NAN };

struct kl_member {
	const struct kl_point *point;
	char band[32]; /* "noise", "twin", "exact0", "band1", "scale-up", ... */
	int draw;      /* number of this draw among the members of that band */
	bool exact;    /* answers must be bit-equal */
	bool own;      /* drawn for one candidate alone, so that nobody is judged on it again */
	/* further values: members that the contract does not list, see odd.h and graded.h */
	bool further;
	enum kl_odd odd;
	/* 1 + axis of the output whose coordinates have magnitudes of their own; 0: none */
	int graded[KL_MAX_ARGS];
	const void *input[KL_MAX_ARGS]; /* in the kernel's dtype; NULL if not in/inout */
	/* outputs: double for float dtypes, the dtype itself for integers */
	const void *truth[KL_MAX_ARGS];
	/* outputs: float for float dtypes, NULL for integers */
	const void *honest[KL_MAX_ARGS];
	/* rule elementwise: the oracle on |inputs| in double; otherwise NULL */
	const void *absum[KL_MAX_ARGS];
	const struct kl_tolerance
		*tolerance; /* job->nrule of them; NULL: kl_compare() computes its own */
};

#endif
