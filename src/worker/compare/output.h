/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_OUTPUT_H
#define KL_WORKER_COMPARE_OUTPUT_H

#include "worker/compare/group.h"
#include "worker/compare/member.h"

/*
 * output - one output of a kernel under one rule, with its truth and honest answer as doubles.
 * Everything in it is borrowed from the job and the member.
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
	bool first; /* stop at the first wrong element */
};

/** Initialize everything but `got` and `first`. KL_EINVALID: the rule does not fit the tensor. */
int kl_output_init(struct kl_output *output, const struct kl_job *job, const struct kl_rule *rule,
		   const struct kl_member *member, int arg);
/**
 * Truth of elements [off, off + n): borrowed if it is stored as doubles, otherwise converted into
 * `room`.
 */
const double *kl_output_truth(const struct kl_output *output, double *room, size_t off, size_t n);
/**
 * Like kl_output_truth() for the honest answer, rounded to the dtype; for integers it is the truth.
 */
const double *kl_output_honest(const struct kl_output *output, double *room, size_t off, size_t n);

#endif
