/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_OUTPUT_H
#define KL_WORKER_COMPARE_OUTPUT_H

#include "worker/compare/group.h"
#include "worker/compare/member.h"

/*
 * output - one output of a kernel under one rule: what was answered, and beside it what is true and
 * what an honest kernel answers, both as doubles. All in it is borrowed, from the job and the
 * member.
 */
struct kl_output {
	const struct kl_rule *rule;
	const struct kl_member *w;
	int arg;
	enum kl_dtype dtype;
	const int64_t *extent;
	size_t naxes, n; /* n: elements */
	struct kl_groups groups;
	const void *got;
	bool first; /* look no further than to the first that is wrong */
};

/** Without `got` and `first`. KL_EINVALID: the rule does not fit the tensor. */
int kl_output_init(struct kl_output *output, const struct kl_job *job, const struct kl_rule *rule,
		   const struct kl_member *member, int arg);
/** Truth of elements [off, off + n): in `room`, or borrowed where it lies as doubles already. */
const double *kl_output_truth(const struct kl_output *output, double *room, size_t off, size_t n);
/** The honest answer as the dtype holds it; integers: the truth. */
const double *kl_output_honest(const struct kl_output *output, double *room, size_t off, size_t n);

#endif
