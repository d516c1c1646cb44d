/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_OUTPUT_H
#define KL_WORKER_COMPARE_OUTPUT_H

#include "worker/compare/group.h"
#include "worker/compare/member.h"

/*
 * output - an output of a kernel with one rule for it; gives its truth and honest answer as
 * doubles. All pointers are borrowed from the job and the member.
 */
struct kl_output {
	const struct kl_rule *rule;
	const struct kl_member *w; /* has the truth and the honest answer */
	int arg;                   /* index of the argument */
	enum kl_dtype dtype;
	const int64_t *extent;
	size_t naxes, n; /* n: number of elements */
	struct kl_groups groups;
	const void *got; /* the kernel's answer, in the dtype */
	bool first;      /* the caller needs only the first wrong element: stop soon after it */
};

/** Initialize all but `got` and `first`. Return KL_EINVALID if the rule does not fit the tensor. */
int kl_output_init(struct kl_output *output, const struct kl_job *job, const struct kl_rule *rule,
		   const struct kl_member *member, int arg);
/**
 * Return the truth of elements [off, off + n): borrowed if it is stored as doubles, otherwise
 * converted into `room`.
 */
const double *kl_output_truth(const struct kl_output *output, double *room, size_t off, size_t n);
/**
 * Return the honest answer of elements [off, off + n), rounded to the dtype, in `room`. Integers
 * have no honest answer: return kl_output_truth().
 */
const double *kl_output_honest(const struct kl_output *output, double *room, size_t off, size_t n);

#endif
