/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_ELEMENT_H
#define KL_WORKER_COMPARE_ELEMENT_H

#include "worker/compare/compare.h"
#include "worker/compare/output.h"

/*
 * element - judges one element of an output: what its group allows, and the verdict. compare.h
 * says what the rules have in common.
 */
struct kl_allowed {
	double max; /* noise: a * max|h| */
	/* allowed rms of d: noise b * rms h, rel-l2 t * rms truth; < 0: none */
	double rms;
	const double *absum;
	double zero; /* rel-l2 with zeros: what counts as one where the truth is zero */
};

/** What is allowed in group `group`; `yard` is the rule's. */
struct kl_allowed kl_element_allowed(const struct kl_output *output, const struct kl_yard *yard,
				     size_t group);

struct kl_element_result {
	double d, allowed; /* allowed < 0: not a matter of degree */
	const char *why;   /* NULL: right */
};

/** Element i: `gain` was got, `other` is true, an honest kernel has `high`. */
struct kl_element_result kl_element_judge(const struct kl_output *output,
					  const struct kl_allowed *allowed, double got,
					  double truth, double honest, size_t i);
/** Is element i bit-equal to the truth? `wanted` (8 bytes) gets what that is in the dtype. */
bool kl_element_exact(const struct kl_output *output, size_t i, bool zeros_tie, char *wanted);

#endif
