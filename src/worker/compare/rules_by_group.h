/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_RULES_BY_GROUP_H
#define KL_WORKER_COMPARE_RULES_BY_GROUP_H

#include "worker/compare/compare.h"
#include "worker/compare/output.h"

/*
 * rules_by_group - applies the rules `noise`, `elementwise` and `rel-l2`, group by group. A fast
 * pass over sums comes first; if it cannot accept a group, the group's elements are checked one by
 * one (compare.h).
 */

/**
 * Check an output and record wrong elements in `mismatch`; `tolerance` has the tolerances of the
 * groups of output->rule.
 */
void kl_compare_groups(struct kl_mismatch *mismatch, const struct kl_output *output,
		       const struct kl_tolerance *tolerance);

#endif
