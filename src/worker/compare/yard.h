/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_YARD_H
#define KL_WORKER_COMPARE_YARD_H

#include "worker/compare/member.h"

/*
 * yard - computes the tolerances of a rule's groups from a member's truth and honest answer. struct
 * kl_yard is in member.h.
 */

/** Compute the tolerances of rule `index` for a member; release them with kl_yard_release(). */
int kl_yard_make(struct kl_yard *out, const struct kl_job *job, size_t index,
		 const struct kl_member *member);
void kl_yard_release(struct kl_yard *yard);
/** Merge the honest errors of a further draw into `yard`, which covers `n` draws so far. */
void kl_yard_merge(struct kl_yard *yard, const struct kl_yard *other, size_t n);
/**
 * Number of elements in a group of a `noise` rule at a point; 0 for other rules, or if the rule
 * does not fit.
 */
size_t kl_yard_group(const struct kl_job *job, size_t index, const struct kl_point *pt);

#endif
