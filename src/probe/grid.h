/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_GRID_H
#define KL_PROBE_GRID_H

#include "contract/contract.h"

/*
 * grid - chooses points of a contract's domain over which two kernels are compared.
 *
 * The sizes of a dim lie in every decade: 1, 10, 100, ..., then 3, 30, ..., then 2, 5, 20, 50, ...;
 * a size that the domain does not allow is rounded up to one that it allows, if there is one
 * nearby. Two dims, the axes, make the map: all pairs of their sizes, with all other dims as in the
 * case. Every other dim is varied alone, with the axes as in the case. Coarse levels come first, and
 * within a level the points with the fewest bytes, so that a run that is cut short has seen the
 * whole range.
 */
#define KL_GRID_LEVELS 4 /* each level has the sizes between those of the levels before it */

struct kl_grid_point {
	struct kl_dims dims;
	int64_t bytes; /* of all tensors */
	int level;
};

struct kl_grid {
	struct kl_grid_point *point;
	size_t n, alloc;
	/* the dims that are the axes of the map; `y` is equal to `x` if only one dim varies */
	size_t x, y;
	size_t too_large; /* points that were left out because of their bytes */
};

/**
 * Choose the points with at most `max_bytes` of tensors. Return KL_EINVALID if the domain has only
 * one point of the grid.
 */
int kl_grid_plan(struct kl_grid *out, const struct kl_contract *contract, int64_t max_bytes);
void kl_grid_release(struct kl_grid *grid);

/** Compute the bytes of all tensors at a point. Errors are those of kl_contract_tensor_bytes(). */
int kl_grid_bytes(int64_t *out, const struct kl_contract *contract, const struct kl_dims *dims);
/** Return the product of all dims of a point, at most INT64_MAX. */
int64_t kl_grid_elements(const struct kl_dims *dims);

#endif
