/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_DOMAIN_H
#define KL_WORKER_POOL_DOMAIN_H

#include "base/rng.h"
#include "plan/expr.h"
#include "plan/limits.h"

/*
 * domain - draws dims that meet a list of conditions, such as the `domain` of a contract.
 *
 * The dims are drawn one after the other, in random order. Each condition whose other names have
 * values by then narrows the next one: to an interval, to the multiples of a number, to the divisors
 * of one. Within these limits a dim is preferably a number at which kernels fail: the least and the
 * greatest, primes, neighbours of powers of two, of the known values and of their parts. What the
 * limits do not express (!=, for example) is tested at the end, and all dims are drawn again.
 *
 *	struct kl_domain_draw draw = { .condition = c, .ncondition = n, .ndim = 3, ... };
 *	err = kl_domain_draw(dim, &draw, &rng);
 */
struct kl_domain_draw {
	struct kl_expr *const *condition; /* truth values over the dims */
	size_t ncondition;
	size_t ndim;
	/* known points of the domain, at least one; their values suggest others */
	const int64_t (*known)[KL_MAX_DIMS];
	size_t nknown;
	/* smallest and largest value of each dim, within the conditions; `least` 0: none */
	int64_t least[KL_MAX_DIMS], most[KL_MAX_DIMS];
	double volume; /* largest product of all dims, where 0 counts as 1 */
	/** A further test of a point that meets all conditions; NULL: none. */
	bool (*fits)(const void *ctx, const int64_t *dim);
	const void *ctx;
};

/** Draw a point into `dim`. KL_ENO: none was found; there is no message. */
int kl_domain_draw(int64_t *dim, const struct kl_domain_draw *draw, struct kl_rng *rng);

/** True if all conditions hold at `dim`; one that has no value there does not hold. */
bool kl_domain_has(struct kl_expr *const *condition, size_t ncondition, const int64_t *dim);

/* The values of one dim that conditions allow once other dims are known. */
struct kl_domain_range {
	int64_t lo, hi;
	int64_t step, rest; /* a value leaves `rest` when divided by `step` */
	int64_t multiple;   /* every value divides this number; 0: no such limit */
};

/**
 * Narrow `range` by the conditions on dim `d`. `known[i]`: dim i has the value dim[i]. Of two
 * conditions joined by ||, one is chosen at random. False: no value is left.
 */
bool kl_domain_narrow(struct kl_domain_range *range, struct kl_expr *const *condition,
		      size_t ncondition, size_t d, const int64_t *dim, const bool *known,
		      struct kl_rng *rng);

#endif
