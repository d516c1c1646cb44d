/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_DOMAIN_H
#define KL_WORKER_POOL_DOMAIN_H

#include "base/rng.h"
#include "plan/expr.h"
#include "plan/limits.h"

/*
 * domain - draws dims that meet a list of conditions, such as the `domain` of a contract.
 *
 * The dims are drawn one after the other, in random order. If all other dims of a condition have
 * values, the condition narrows the values of the next dim: to an interval, to the multiples of a
 * number or to the divisors of a number. Within these limits, the draw prefers numbers at which
 * kernels often fail: the smallest and the largest, primes, and numbers at or next to powers of
 * two, known values and divisors of known values. All conditions are tested at the end, since some
 * cannot narrow a dim (!=, for example); if one does not hold, all dims are drawn again.
 *
 *	struct kl_domain_draw draw = { .condition = c, .ncondition = n, .ndim = 3, ... };
 *	err = kl_domain_draw(dim, &draw, &rng);
 */
struct kl_domain_draw {
	struct kl_expr *const *condition; /* expressions over the dims that must hold */
	size_t ncondition;
	size_t ndim;
	/* known points of the domain, at least one; their values suggest values to draw */
	const int64_t (*known)[KL_MAX_DIMS];
	size_t nknown;
	/*
	 * smallest and largest value of each dim, in addition to the conditions; no limit if
	 * `least` is 0
	 */
	int64_t least[KL_MAX_DIMS], most[KL_MAX_DIMS];
	double volume; /* largest product of all dims, where 0 counts as 1 */
	/**
	 * Return true if a point that meets all conditions may be drawn. If NULL, every such point
	 * may be drawn.
	 */
	bool (*fits)(const void *ctx, const int64_t *dim);
	const void *ctx;
};

/** Draw a point into `dim`. Return KL_ENO, without an error message, if no point was found. */
int kl_domain_draw(int64_t *dim, const struct kl_domain_draw *draw, struct kl_rng *rng);

/**
 * Return true if all conditions hold at `dim`. A condition that cannot be computed (a division by
 * zero, for example) does not hold.
 */
bool kl_domain_has(struct kl_expr *const *condition, size_t ncondition, const int64_t *dim);

/* The values of one dim that conditions allow once other dims have values. */
struct kl_domain_range {
	int64_t lo, hi;
	int64_t step, rest; /* every value leaves the remainder `rest` when divided by `step` */
	/* every value is a divisor of this number; 0 if there is no such limit */
	int64_t multiple;
};

/**
 * Narrow `range` by the conditions on dim `d`. `known[i]` is true if dim i has a value, dim[i]. If
 * two conditions are joined by || and neither is decided yet, narrow by one of them, chosen at
 * random. Return false if no value is left.
 */
bool kl_domain_narrow(struct kl_domain_range *range, struct kl_expr *const *condition,
		      size_t ncondition, size_t d, const int64_t *dim, const bool *known,
		      struct kl_rng *rng);

#endif
