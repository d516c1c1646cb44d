/* SPDX-License-Identifier: Apache-2.0 */
/* points_draw - draws the random points by which a fitted condition is checked */
#include "base/rng.h"
#include "probe/points.h"

#define DRAW_MOST 512   /* greatest value of a dim */
#define DRAW_SMALL 64   /* greatest value of a dim in a third of the draws */
#define DRAW_ADDRESS 8  /* for one point in this many, the address of a tensor is drawn, too */
#define DRAW_HIGHEST 6  /* 2^6 is the greatest power of two that a drawn address is made for */
#define DRAWS_A_POINT 8 /* for each point, try at most this many draws */

/* Draw an extent, which is a small number, any number, or an odd multiple of a power of two. */
static int64_t draw_extent(struct kl_rng *rng)
{
	uint64_t power = (uint64_t)1 << (1 + kl_rng_below(rng, 7));

	switch (kl_rng_below(rng, 3)) {
	case 0:
		return 1 + (int64_t)kl_rng_below(rng, DRAW_SMALL);
	case 1:
		return 1 + (int64_t)kl_rng_below(rng, DRAW_MOST);
	default:
		return (int64_t)(power * (1 + 2 * kl_rng_below(rng, DRAW_MOST / power / 2)));
	}
}

static void draw_address(struct kl_probe_point *point, const struct kl_contract *contract,
			 struct kl_rng *rng)
{
	size_t tensor = kl_rng_below(rng, contract->nargs);

	if (!kl_probe_has_address(contract, tensor))
		return;
	point->tensor = tensor;
	point->base = (int64_t)1 << kl_rng_below(rng, DRAW_HIGHEST + 1);
	if (point->base < (int64_t)kl_dtype_bytes(contract->arg[tensor].dtype))
		point->base = (int64_t)kl_dtype_bytes(contract->arg[tensor].dtype);
}

size_t kl_probe_points_draw(struct kl_probe_points *points, const struct kl_contract *contract,
			    size_t n, uint64_t seed)
{
	size_t drawn = 0;
	struct kl_rng rng;

	kl_rng_seed(&rng, seed);
	for (size_t i = 0; i < n * DRAWS_A_POINT && drawn < n; i++) {
		struct kl_probe_point point = { .dims = { .n = contract->dims.n } };

		for (size_t dim = 0; dim < point.dims.n; dim++)
			point.dims.v[dim] = draw_extent(&rng);
		if (kl_rng_below(&rng, DRAW_ADDRESS) == 0)
			draw_address(&point, contract, &rng);
		if (kl_probe_points_promising(contract, &point.dims))
			drawn += kl_probe_points_add(points, contract, &point);
	}
	return drawn;
}
