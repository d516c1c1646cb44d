/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_ELEMENT_H
#define KL_WORKER_COMPARE_ELEMENT_H

#include "worker/compare/compare.h"
#include "worker/compare/output.h"

/*
 * element - judges one element of an output against its group's limits. compare.h lists what the
 * rules have in common.
 */
struct kl_allowed {
	double max; /* noise: limit from the largest honest error; kl_element_least() is always allowed */
	/*
	 * allowed rms of got - truth: for noise from the honest rms, for rel-l2 the tolerance times
	 * the rms of the truth; < 0: no limit
	 */
	double rms;
	const double *absum;
	double zero; /* rel-l2 with zeros: up to this magnitude an answer counts as zero */
};

/** Compute the limits of group `group`; `tolerance` holds the tolerances of the output's rule. */
struct kl_allowed kl_element_allowed(const struct kl_output *output,
				     const struct kl_tolerance *tolerance, size_t group);

/**
 * The error that rule noise always allows: half an ulp of the truth, or two for further values, whose
 * honest errors can all be small by chance.
 */
double kl_element_least(const struct kl_output *output, double truth);

struct kl_element_result {
	double d, allowed; /* error and its limit; allowed < 0: no limit applies */
	const char *why;   /* NULL: the element is right */
};

/** Judge element i: `got` is the kernel's answer, `honest` the honest answer. */
struct kl_element_result kl_element_judge(const struct kl_output *output,
					  const struct kl_allowed *allowed, double got,
					  double truth, double honest, size_t i);
/**
 * True if element i is bit-equal to the truth, or both are NaN, or, with `zeros_tie`, both are
 * zeros of any sign. `wanted` (8 bytes) receives the truth in the output's dtype.
 */
bool kl_element_exact(const struct kl_output *output, size_t i, bool zeros_tie, char *wanted);

#endif
