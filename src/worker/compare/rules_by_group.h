/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_RULES_BY_GROUP_H
#define KL_WORKER_COMPARE_RULES_BY_GROUP_H

#include "worker/compare/compare.h"
#include "worker/compare/output.h"

/*
 * rules_by_group - the rules noise, elementwise and rel-l2, which judge a group of elements
 * together: a fast pass over sums, and each element of what it does not clear (compare.h).
 */

/** `mismatch` gets what is wrong, `yard` is the rule's. */
void kl_compare_groups(struct kl_mismatch *mismatch, const struct kl_output *output,
		       const struct kl_yard *yard);

#endif
