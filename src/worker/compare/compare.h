/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_COMPARE_H
#define KL_WORKER_COMPARE_COMPARE_H

#include "worker/compare/member.h"

/*
 * compare - compares outputs under the acceptance rules (docs/formats.md, "Rules").
 *
 * Every element of every output is checked. A fast first pass over got - truth accepts most correct
 * answers. What it cannot accept is checked again element by element; only this second pass decides
 * that an answer is wrong, and where. Both passes split the tensor into pieces that run in
 * parallel; the result does not depend on the number of threads.
 *
 * Common to the rules noise, elementwise and rel-l2:
 *  - If the truth is NaN, the answer must be NaN. If the truth is infinite, or rounds
 *    to infinity in the dtype, the answer must be that infinity; but if only rounding
 *    makes it infinite and the honest answer is finite, a finite answer is also allowed
 *    and is judged by its error. In all other cases the answer must be finite.
 *  - For members of an exact band, bit equality replaces these rules, except that zeros of
 *    either sign are equal and so are all NaNs. The rule multiset still applies.
 *  - Integers are judged as numbers whose ulp is 1.
 *
 * Members with further values (member->further), which the contract does not list, are judged
 * differently: odd.h accepts some elements without a rule, graded.h adds a check, the rule noise
 * allows an error of at least two ulps of the truth, and zeros of either sign are equal.
 */

struct kl_mismatch {
	int out; /* index of the argument with the first wrong element; -1: no mismatch */
	int64_t index[KL_MAX_AXES];
	size_t naxes;
	char got[40], wanted[40]; /* that element and its true value, as text */
	char why[120];            /* what is wrong with it */
	double margin;            /* worst error / allowed error; <= 1 passes */
	int64_t bad, elements;    /* numbers of wrong elements and of elements checked */
	/*
	 * all wrong elements lie on a border, or the point is not timed; false for further values
	 */
	bool edge_only;
};
/**
 * Compare outputs with a member; `got[arg]` is in the kernel's dtype. Returns 0, with mismatch->out
 * = -1, if they are right; KL_ENO (without an error message), with the first wrong element in
 * `mismatch`, if they are wrong; KL_EINVALID if a rule of the job does not fit its tensors.
 */
int kl_compare(struct kl_mismatch *mismatch, const struct kl_job *job,
	       const struct kl_member *member, const void *const *got);

/**
 * Like kl_compare(), for callers that only need to know whether an answer is right. Stops soon
 * after the first wrong element; `bad`, `margin` and `edge_only` are then those of the elements
 * checked so far.
 */
int kl_compare_first(struct kl_mismatch *mismatch, const struct kl_job *job,
		     const struct kl_member *member, const void *const *got);

#endif
