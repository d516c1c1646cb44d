/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_USEFUL_H
#define KL_PROBE_USEFUL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * useful - finds the smallest condition on sizes under which one kernel is faster than another.
 *
 * The condition is a bound on one figure of a point: the extent of a dim, the product of all
 * extents, or the bytes of all tensors. It is fitted on one half of the points and judged on the
 * other half, and the other way round, so that each point is judged by a condition that was not
 * fitted to it. There is no condition for fewer than KL_USEFUL_POINTS points, or if outcomes that
 * are dealt to the points at random are predicted as well in more than one of 20 deals.
 */
#define KL_USEFUL_POINTS 8
#define KL_USEFUL_DEALS 999 /* number of random deals of the outcomes */

struct kl_useful_data {
	size_t npoint, nfigure;
	/* figure k of point i is value[i * nfigure + k]; the simplest figure comes first */
	const int64_t *value;
	const bool *gain; /* the kernel is faster at the point */
};

enum kl_useful_end {
	KL_USEFUL_UNKNOWN, /* no condition: `why` has the reason */
	KL_USEFUL_NEVER,   /* faster at no point */
	KL_USEFUL_ALWAYS,  /* faster at every point */
	KL_USEFUL_BOUND,   /* faster where the figure is beyond the bound */
};

struct kl_useful {
	enum kl_useful_end end;
	size_t figure;
	/*
	 * true if the kernel is faster where the figure is at least `bound`, false if where it is
	 * at most `bound`
	 */
	bool above;
	int64_t bound; /* the figure of the point with a gain that is nearest to the others */
	int64_t other; /* the figure of the nearest point on the other side of the bound */
	size_t judged,
		right;   /* points that were judged by a condition of other points; right ones */
	size_t constant; /* points that the better of "always" and "never" predicts */
	/* deals out of KL_USEFUL_DEALS that were predicted as well or better, in ppm */
	int64_t chance_ppm;
	size_t wrong; /* points on the wrong side of `bound` */
	const char *why;
};

/** Find the condition. The result depends on nothing but the data. */
void kl_useful_fit(struct kl_useful *out, const struct kl_useful_data *data);
/** Return true if a condition of kind KL_USEFUL_BOUND or _ALWAYS holds for a value of its figure. */
bool kl_useful_holds(const struct kl_useful *useful, int64_t value);

#endif
