/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_ELEMENT_H
#define KL_WORKER_COMPARE_ELEMENT_H

#include "worker/compare/compare.h"
#include "worker/compare/output.h"

/*
 * element - judges one element of an output by the limits of its group. compare.h says which parts
 * all rules share.
 */
struct kl_allowed {
	double max; /* noise: largest error, unless kl_element_least() allows more */
	/*
	 * largest rms of got - truth: for noise from the honest rms, for rel-l2 the tolerance times
	 * the rms of the truth; < 0: no limit
	 */
	double rms;
	const double
		*absum; /* elementwise: the oracle's values on |inputs|; borrowed, can be NULL */
	double zero; /* rel-l2 with `zeros`: an answer of at most this magnitude counts as zero */
};

/**
 * Return the factor by which limits over `n` elements are raised, since with few elements the
 * honest error itself is a matter of luck. Two honest rms values over n elements differ by a share
 * of about 1/sqrt(n); this allows three times that share: 1.03 for ten thousand elements and 2 for
 * nine.
 */
double kl_element_room(size_t n);
/** Compute the limits of group `group`; `tolerance` holds the tolerances of the output's rule. */
struct kl_allowed kl_element_allowed(const struct kl_output *output,
				     const struct kl_tolerance *tolerance, size_t group);

/**
 * Return the error that the rule noise always allows: half an ulp of the truth; for further values,
 * whose honest errors can all be small by chance, two ulps.
 */
double kl_element_least(const struct kl_output *output, double truth);

struct kl_element_result {
	double d, allowed; /* error and its limit; allowed < 0: no error was computed */
	const char *why;   /* NULL: the element is right */
};

/** Judge element i of an output; `honest` is the answer of the honest reference. */
struct kl_element_result kl_element_judge(const struct kl_output *output,
					  const struct kl_allowed *allowed, double got,
					  double truth, double honest, size_t i);
/**
 * Return true if element i is bit-equal to the truth, or if both are NaN; with `zeros_tie` also if
 * both are zeros of any sign. Stores the truth in the output's dtype into `wanted` (8 bytes).
 */
bool kl_element_exact(const struct kl_output *output, size_t i, bool zeros_tie, char *wanted);

#endif
