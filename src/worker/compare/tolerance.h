/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_TOLERANCE_H
#define KL_WORKER_COMPARE_TOLERANCE_H

#include "worker/compare/member.h"

/*
 * tolerance - computes the tolerances of a rule's groups from a member's truth and honest answer.
 * The result is a struct kl_tolerance (member.h).
 */

/**
 * Compute the tolerances of rule `index` for a member; the caller releases `out`. Return
 * KL_EINVALID if the rule does not fit its tensor.
 */
int kl_tolerance_make(struct kl_tolerance *out, const struct kl_job *job, size_t index,
		      const struct kl_member *member);
void kl_tolerance_release(struct kl_tolerance *tolerance);
/**
 * Return true if the member is steady: no tolerance of a `noise` rule depends on only a few
 * elements. Each group must have at least KL_TOLERANCE_STEADY different true values, and no single
 * element may make up a large part of the sum of the squares of these values or of the honest
 * errors. If a tolerance depends on a few honest errors, these could all be small by chance, and a
 * sound kernel with larger errors would fail. A group whose truth is all zeros is steady if the
 * honest answer is exact.
 */
#define KL_TOLERANCE_STEADY 32
bool kl_tolerance_is_steady(const struct kl_job *job, const struct kl_member *member);
/**
 * Return the number of elements in a full group of a `noise` rule at a point; the smallest number
 * if there are several such rules; SIZE_MAX if there is none. If groups have at least
 * KL_TOLERANCE_ROOMY elements, almost every member is steady.
 */
#define KL_TOLERANCE_ROOMY 256
size_t kl_tolerance_least_group(const struct kl_job *job, const struct kl_point *pt);
/**
 * Return the smallest number of groups of any `noise` rule at a point; SIZE_MAX if there is none.
 */
size_t kl_tolerance_least_count(const struct kl_job *job, const struct kl_point *pt);

#endif
