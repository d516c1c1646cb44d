/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_ELEMENT_H
#define KL_WORKER_COMPARE_ELEMENT_H

#include "worker/compare/compare.h"
#include "worker/compare/output.h"

/*
 * element - judges one element of an output by the limits of its group. compare.h describes the
 * common part of the rules.
 */
struct kl_allowed {
	double max; /* `noise`: largest error, unless kl_element_least() allows more */
	/*
	 * largest rms of got - truth over the group: for `noise` a multiple of the honest rms, for
	 * `rel-l2` the rule's tolerance times the rms of the truth; < 0 if there is no limit
	 */
	double rms;
	/* `elementwise`: the oracle's output for |inputs|; borrowed; NULL to use |truth| instead */
	const double *absum;
	double zero; /* `rel-l2` with `zeros`: an answer of at most this magnitude counts as zero */
};

/**
 * Return the factor by which limits are raised that are computed from honest errors with this many
 * degrees of freedom. With few degrees of freedom, honest errors vary by chance: from one draw to
 * the next, the rms of n independent errors changes by a relative amount of about 1/sqrt(2 n). The
 * factor allows about four times that amount: it is 1.03 for ten thousand independent errors and 2
 * for nine.
 */
double kl_element_room(double freedom);
/** Compute the limits of group `group`; `tolerance` holds the tolerances of the output's rule. */
struct kl_allowed kl_element_allowed(const struct kl_output *output,
				     const struct kl_tolerance *tolerance, size_t group);

/**
 * Return the error that the rule `noise` allows even if the tolerance is smaller: half an ulp of
 * the truth. For values beyond those of the contract, whose honest errors can all be small by
 * chance, it is two ulps.
 */
double kl_element_least(const struct kl_output *output, double truth);

struct kl_element_result {
	double d, allowed; /* error and its limit; `allowed` is below 0 if no error was computed */
	const char *why;   /* what is wrong with the element; NULL if it is right */
};

/** Judge element i of an output; `honest` is the answer of the honest reference. */
struct kl_element_result kl_element_judge(const struct kl_output *output,
					  const struct kl_allowed *allowed, double got,
					  double truth, double honest, size_t i);
/**
 * Return true if element i of the answer is bit-equal to the truth, or if both are NaN; with
 * `zeros_tie` also if both are zeros of any sign. Stores the truth, in the output's dtype, into
 * `wanted` (8 bytes).
 */
bool kl_element_exact(const struct kl_output *output, size_t i, bool zeros_tie, char *wanted);

#endif
