/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_COMPARE_H
#define KL_WORKER_COMPARE_COMPARE_H

#include "worker/compare/member.h"

/*
 * compare - compares outputs under the acceptance rules (docs/formats.md, "Rules").
 *
 * Every element of every output is checked. A fast first pass over the errors, got - truth, accepts
 * most correct answers. The parts of an answer that it cannot accept are checked again element by
 * element; only this second pass decides that an answer is wrong, and at which element. Both passes
 * split the tensor into pieces that run in parallel; the result does not depend on the number of
 * threads.
 *
 * The rules `noise`, `elementwise` and `rel-l2` share these principles:
 *  - If the truth is NaN, the answer must be NaN. If the truth is infinite, or rounds to infinity
 *    in the dtype, the answer must be the same infinity. There is one exception: if the truth is
 *    finite before rounding and the honest answer is finite, a finite answer is also allowed and is
 *    judged by its error. If the rounded truth is finite, the answer must be finite.
 *  - For members of an exact band (member->exact), none of these rules is applied: the answer must
 *    be bit-equal to the truth, except that zeros of either sign are equal and all NaNs are equal.
 *    The rule `multiset` is applied to these members as to any other.
 *  - Integers are judged as numbers whose ulp is 1.
 *
 * Members with values beyond those of the contract (member->further, pool/further.h) are judged
 * differently: odd.h accepts some elements that no rule can judge, graded.h adds a check, the rule
 * `noise` allows an error of at least two ulps of the truth, and zeros of either sign are equal.
 */

struct kl_mismatch {
	/* index of the argument with the first wrong element; -1 if there is no mismatch */
	int out;
	int64_t index[KL_MAX_AXES];
	size_t naxes;
	char got[40], wanted[40]; /* that element and its true value, as text */
	char why[120];            /* why that element is wrong */
	double margin;            /* largest ratio of an error to the allowed error; <= 1 passes */
	int64_t bad, elements;    /* numbers of wrong elements and of elements checked */
	/*
	 * true if all wrong elements lie on a border (kl_mismatch_border()) or the point is not
	 * timed; always false for values beyond those of the contract
	 */
	bool edge_only;
};
/**
 * Compare outputs with the answers of a member; `got[arg]` is in the kernel's dtype. Return 0, with
 * mismatch->out = -1, if they are right; KL_ENO (without an error message), with the first wrong
 * element in `mismatch`, if they are wrong. Return KL_EINVALID if a rule of the job does not fit
 * its tensors.
 */
int kl_compare(struct kl_mismatch *mismatch, const struct kl_job *job,
	       const struct kl_member *member, const void *const *got);

/**
 * Compare like kl_compare(), for callers that only need to know whether an answer is right. Stops
 * soon after the first wrong element; `bad`, `margin` and `edge_only` then cover only the elements
 * that were checked.
 */
int kl_compare_first(struct kl_mismatch *mismatch, const struct kl_job *job,
		     const struct kl_member *member, const void *const *got);

/**
 * Compare like kl_compare(), but apply every rule separately, including those after the first rule
 * that the answer breaks; each[i] is the result of rule i. Return 0, also if the answer is wrong;
 * KL_EINVALID as above.
 */
int kl_compare_all(struct kl_mismatch *each, const struct kl_job *job,
		   const struct kl_member *member, const void *const *got);

#endif
