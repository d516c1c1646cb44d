/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_YARD_H
#define KL_WORKER_COMPARE_YARD_H

#include "worker/compare/member.h"

/*
 * yard - the tolerances of a rule's groups, from a member's truth and honest answer. struct
 * kl_yard is in member.h.
 */

/** The yard of one rule, worked out once for a member; kl_yard_release frees. */
int kl_yard_make(struct kl_yard *out, const struct kl_job *job, size_t index,
		 const struct kl_member *member);
void kl_yard_release(struct kl_yard *yard);
/**
 * Let `yard` stand for the honest errors of `other`'s draws as well: `n` draws so far, and one
 * more.
 */
void kl_yard_merge(struct kl_yard *yard, const struct kl_yard *other, size_t n);
/** Elements of a group of a rule `noise` at a point; 0: another rule, or one that does not fit. */
size_t kl_yard_group(const struct kl_job *job, size_t index, const struct kl_point *pt);

#endif
