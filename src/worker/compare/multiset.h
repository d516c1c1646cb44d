/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_MULTISET_H
#define KL_WORKER_COMPARE_MULTISET_H

#include "worker/compare/compare.h"

/*
 * multiset - the rule for selections in any order: values v with the indices i
 * at which they were found in x, row by row of the last axis.
 *
 * In each row the indices are distinct and in range, x[i] is bitwise v, and v
 * in order is the truth in order: bitwise, except that zeros of either
 * sign tie (v is some x[i], so its sign is x's own) and any NaN equals a NaN.
 */
int kl_multiset_check(struct kl_mismatch *mismatch, const struct kl_job *job,
		      const struct kl_member *member, const struct kl_rule *rule,
		      const void *const *got);

#endif
