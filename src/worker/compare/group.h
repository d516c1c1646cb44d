/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_GROUP_H
#define KL_WORKER_COMPARE_GROUP_H

#include "job/job.h"

/*
 * group - the groups that a rule's `per` makes of a tensor, and where the
 * elements of one lie.
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
	int64_t part[KL_MAX_AXES]; /* of each axis in one group: all of it, 1, or a piece */
	size_t count;
	size_t size; /* elements of the first, which is the largest */
};

/**
 * `rule` NULL or without `per`: one group. KL_EINVALID: `per` does not fit a tensor of these axes.
 */
int kl_groups_init(struct kl_groups *groups, const struct kl_rule *rule, const int64_t *extent,
		   size_t naxes);

struct kl_group_walk {
	const struct kl_groups *g;
	int64_t lo[KL_MAX_AXES], hi[KL_MAX_AXES], at[KL_MAX_AXES];
	size_t inner;     /* from this axis on a run is contiguous */
	size_t off, left; /* of the present run */
	bool more;
};

void kl_group_start(struct kl_group_walk *walk, const struct kl_groups *groups, size_t group);
/** Right after kl_group_start: leave out the first `n` elements. */
void kl_group_skip(struct kl_group_walk *walk, size_t n);
/** The next elements, in order and at most `max` at once; false: that was all. */
bool kl_group_next(struct kl_group_walk *walk, size_t *off, size_t *n, size_t max);

#endif
