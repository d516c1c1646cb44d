/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_MEMBER_H
#define KL_WORKER_COMPARE_MEMBER_H

#include "job/job.h"

/*
 * member - one set of inputs with its known answers. The pool (pool.h) holds members. A kernel is
 * called with the inputs of a member, and its outputs are compared with the member's answers
 * (compare.h). All memory belongs to the pool.
 */

struct kl_yardstick;

/*
 * Tolerances of the groups of one rule. `max` and `rms` have an entry for each group: the maximum
 * and the root mean square of the honest error (`noise`) or of the truth (`rel-l2`).
 */
struct kl_tolerance {
	size_t ngroup; /* 0 if the rule is neither `noise` nor `rel-l2` */
	double *max, *rms;
	double *size; /* root mean square of the truth of each group; NULL if not `noise` */
	/*
	 * the honest errors of several executions (yardstick.h); borrowed; NULL to use only `max`
	 * and `rms`
	 */
	const struct kl_yardstick *yardstick;
};

/* Kind of the non-finite values in a member's inputs; NONE if all values are finite. */
enum kl_odd { KL_ODD_NONE, KL_ODD_INF, KL_ODD_NAN };

struct kl_member {
	const struct kl_point *point;
	char band[32]; /* "noise", "twin", "exact0", "band1", "scale-up", ... */
	int draw;      /* number of this draw among the members of that band at that point */
	bool exact;    /* answers must be bit-equal to the truth */
	bool own;      /* drawn for one candidate; no other candidate is called with it */
	bool late;     /* made only if the honest errors at its point differ (pool/members.h) */
	/* the inputs have values beyond those of the contract (pool/further.h); see compare.h */
	bool further;
	enum kl_odd odd;
	/*
	 * by output: 1 + the axis whose slices differ much in magnitude (graded.h); 0 if there is
	 * none
	 */
	int graded[KL_MAX_ARGS];
	/* in the kernel's dtype; NULL if it is not an input or inout */
	const void *input[KL_MAX_ARGS];
	/* for outputs: stored as double for float dtypes, as the dtype itself for integers */
	const void *truth[KL_MAX_ARGS];
	/* for outputs: stored as float for float dtypes; NULL for integers */
	const void *honest[KL_MAX_ARGS];
	/* for outputs under the rule `elementwise`: the oracle's output for |inputs|, as double */
	const void *absum[KL_MAX_ARGS];
	/* one for each rule of the job; NULL if kl_compare() computes the tolerances */
	const struct kl_tolerance *tolerance;
};

/** Return the number of elements of a tensor argument. */
static inline size_t kl_member_elements(const struct kl_member *member, size_t arg)
{
	return (size_t)kl_point_elements(member->point, arg);
}

#endif
