/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_YARDSTICK_H
#define KL_WORKER_COMPARE_YARDSTICK_H

#include "worker/compare/member.h"

/*
 * yardstick - the distribution of honest errors over several executions of the oracle in float.
 * They are the errors of a rule `noise` for inputs of one band at one point (docs/formats.md, "The
 * yardstick").
 *
 * All elements of a group can share a rounding, such as that of the sum that divides a row of a
 * softmax. The honest error of the group is then one draw, however many elements it has, and one
 * execution says little about the error of another sound kernel. So the errors of all executions
 * are taken together: the tolerance is their root mean square times a factor that grows as the
 * errors of the executions differ more.
 *
 *	kl_yardstick_init(&y, job, index, point);
 *	kl_yardstick_add(&y, &tolerance);		for each execution
 *	kl_yardstick_finish(&y);
 *	kl_yardstick_error(&y, &tolerance, group)	for each group of a member
 *	kl_yardstick_release(&y);
 */

/* if a group has fewer elements, errors are compared as they are, not relative to the truth */
#define KL_YARDSTICK_RELATIVE 32
/*
 * with at least this many groups, and fewer than KL_YARDSTICK_FREE degrees of freedom, all groups
 * have one tolerance
 */
#define KL_YARDSTICK_ACROSS 16
/* errors with at least this many degrees of freedom count as independent */
#define KL_YARDSTICK_FREE 64

/* Errors over one group. */
struct kl_yardstick_error {
	double max, rms;
};

struct kl_yardstick {
	size_t ngroup;      /* number of groups; 0 if the rule is not `noise` */
	size_t size;        /* elements of the largest group */
	bool relative;      /* errors are in units of the rms of the truth in their group */
	size_t n;           /* number of executions */
	double *sum, *sum2; /* by group: sums of rms^2 and rms^4 of the executions */
	/* by execution and group; NULL if there are many small groups, and only `most` is kept */
	struct kl_yardstick_error *seen;
	size_t alloc;
	double *most; /* by group: largest error of all executions */

	/* the rest is computed by kl_yardstick_finish() */
	double freedom; /* effective degrees of freedom of the rms^2 of a group */
	/* factor by which honest errors with this `freedom` are raised */
	double room;
	bool across;                      /* all groups have one error, error[0] */
	struct kl_yardstick_error *error; /* by group: honest error, without `room` */
};

/**
 * Begin the distribution of rule `index` at a point. For a rule that is not `noise`, or does not
 * fit its tensor, ngroup is 0, and the functions below do nothing.
 */
void kl_yardstick_init(struct kl_yardstick *out, const struct kl_job *job, size_t index,
		       const struct kl_point *pt);
void kl_yardstick_release(struct kl_yardstick *yardstick);
/** Add one execution; `tolerance` has its honest errors (kl_tolerance_make()). */
void kl_yardstick_add(struct kl_yardstick *yardstick, const struct kl_tolerance *tolerance);
/** Compute the distribution from the executions so far. */
void kl_yardstick_finish(struct kl_yardstick *yardstick);
/**
 * Return true if no further execution is needed: the errors have at least `least` degrees of
 * freedom, or there are enough executions.
 */
bool kl_yardstick_is_settled(const struct kl_yardstick *yardstick, double least);
/**
 * Return the largest number of executions that would fail a rule in the same group if each was
 * judged by all others. Return 0 if there are too few executions, or if they are not kept one by
 * one.
 */
size_t kl_yardstick_outside(const struct kl_yardstick *yardstick, const struct kl_rule *rule);

/**
 * Return the honest errors from which the limits of group `group` are computed: the yardstick's
 * errors times its room; relative errors are scaled by the rms of the truth in `tolerance`.
 */
struct kl_yardstick_error kl_yardstick_error(const struct kl_yardstick *yardstick,
					     const struct kl_tolerance *tolerance, size_t group);

#endif
