/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_GROUP_H
#define KL_WORKER_COMPARE_GROUP_H

#include "job/job.h"

/*
 * group - iterates over the groups into which a rule's `per` divides a tensor.
 *
 *	kl_groups_init(&g, rule, extent, naxes);
 *	for (size_t i = 0; i < g.count; i++) {
 *		kl_group_start(&w, &g, i);
 *		while (kl_group_next(&w, &off, &n, BLOCK))
 *			...		elements [off, off + n)
 *	}
 */
struct kl_groups {
	size_t naxes;
	int64_t extent[KL_MAX_AXES];
	/* length of a group along each axis: the whole axis, 1, or a piece */
	int64_t part[KL_MAX_AXES];
	size_t count; /* number of groups */
	size_t size;  /* number of elements of the first group, which is the largest */
};

/**
 * Divide a tensor into groups. If `rule` is NULL or has no `per`, there is one group. Return
 * KL_EINVALID if `per` does not fit a tensor with these axes.
 */
int kl_groups_init(struct kl_groups *groups, const struct kl_rule *rule, const int64_t *extent,
		   size_t naxes);

struct kl_group_walk {
	const struct kl_groups *g;
	int64_t lo[KL_MAX_AXES], hi[KL_MAX_AXES], at[KL_MAX_AXES];
	size_t inner;     /* from this axis on, elements of a group are contiguous */
	size_t off, left; /* next element of the current contiguous run; elements left in the run */
	bool more;        /* elements are left in the group */
};

void kl_group_start(struct kl_group_walk *walk, const struct kl_groups *groups, size_t group);
/** Skip the first `n` elements; may only be called directly after kl_group_start(). */
void kl_group_skip(struct kl_group_walk *walk, size_t n);
/**
 * Set *off and *n so that [off, off + n) are the next contiguous elements of the group, at most
 * `max`. Return false if there are no more.
 */
bool kl_group_next(struct kl_group_walk *walk, size_t *off, size_t *n, size_t max);

#endif
