/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_MULTISET_H
#define KL_WORKER_COMPARE_MULTISET_H

#include "worker/compare/compare.h"

/*
 * multiset - judges selections in any order, such as top-k. Such a kernel has an input x and two
 * outputs: the selected values v and their indices i in x. Rows are along the last axis.
 *
 * In each row the indices must be distinct and in range, x[i] must be bitwise equal to v, and the
 * sorted values v must be the sorted truth, bit for bit, except that zeros of either sign are equal
 * (v is some x[i], so its sign is that of x) and all NaNs are equal.
 */
int kl_multiset_check(struct kl_mismatch *mismatch, const struct kl_job *job,
		      const struct kl_member *member, const struct kl_rule *rule,
		      const void *const *got);

#endif
