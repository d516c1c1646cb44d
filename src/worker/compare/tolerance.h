/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_TOLERANCE_H
#define KL_WORKER_COMPARE_TOLERANCE_H

#include "worker/compare/member.h"

/*
 * tolerance - computes the tolerances of a rule's groups from a member's truth and honest answer. struct
 * kl_tolerance is in member.h.
 */

/** Compute the tolerances of rule `index` for a member; release them with kl_tolerance_release(). */
int kl_tolerance_make(struct kl_tolerance *out, const struct kl_job *job, size_t index,
		      const struct kl_member *member);
void kl_tolerance_release(struct kl_tolerance *tolerance);
/** Merge the honest errors of a further draw into `tolerance`, which covers `n` draws so far. */
void kl_tolerance_merge(struct kl_tolerance *tolerance, const struct kl_tolerance *other, size_t n);
/**
 * True if no tolerance of a `noise` rule depends on a few elements of the member: each group has at
 * least KL_TOLERANCE_STEADY different values, and neither their squares nor those of the honest
 * errors are mostly those of a few. Otherwise the honest errors that count can all be small by
 * chance, and those of another sound kernel not. A group of zeros, answered exactly, is steady.
 */
#define KL_TOLERANCE_STEADY 32
bool kl_tolerance_is_steady(const struct kl_job *job, const struct kl_member *member);
/**
 * Number of elements in the smallest group of any `noise` rule at a point; SIZE_MAX if there is no
 * such rule. From KL_TOLERANCE_ROOMY on, hardly any member is not steady.
 */
#define KL_TOLERANCE_ROOMY 256
size_t kl_tolerance_least_group(const struct kl_job *job, const struct kl_point *pt);
/**
 * Number of elements in a group of a `noise` rule at a point; 0 for other rules, or if the rule
 * does not fit.
 */
size_t kl_tolerance_group(const struct kl_job *job, size_t index, const struct kl_point *pt);

#endif
