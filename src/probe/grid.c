/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/grid.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/expr.h"

#define DECADES 10
#define MOST_POINTS 4096
#define MULTIPLES 9 /* a size can be rounded up to a multiple of 1, 2, 4, ..., 256 */

/* sizes of each level in tenths of a decade's first size; 0 ends the list */
static const int sizes[KL_GRID_LEVELS][3] = { { 10 }, { 30 }, { 20, 50 }, { 15, 70 } };

void kl_grid_release(struct kl_grid *grid)
{
	free(grid->point);
	*grid = (struct kl_grid){ 0 };
}

int kl_grid_bytes(int64_t *out, const struct kl_contract *contract, const struct kl_dims *dims)
{
	*out = 0;
	for (size_t i = 0; i < contract->nargs; i++) {
		int64_t bytes;
		int err;

		if (!kl_arg_kind_is_tensor(contract->arg[i].kind))
			continue;
		if ((err = kl_contract_tensor_bytes(&bytes, contract, i, dims)) < 0)
			return err;
		*out += bytes;
	}
	return 0;
}

int64_t kl_grid_elements(const struct kl_dims *dims)
{
	int64_t product = 1;

	for (size_t i = 0; i < dims->n; i++)
		if (__builtin_mul_overflow(product, dims->v[i], &product))
			return INT64_MAX;
	return product;
}

/* --- the domain ------------------------------------------------------------------------------- */

static bool is_inside(const struct kl_contract *contract, const struct kl_dims *dims)
{
	int64_t bytes;

	if (kl_contract_in_domain(contract, dims) < 0 ||
	    kl_grid_bytes(&bytes, contract, dims) < 0) {
		kl_error_clear();
		return false;
	}
	return true;
}

static int64_t round_up(int64_t value, int power)
{
	int64_t unit = (int64_t)1 << power;

	return (value + unit - 1) / unit * unit;
}

/*
 * Round the sizes of two dims (or of one, x == y) up until the point is inside the domain. Return
 * false if no multiples that are tried are inside.
 */
static bool round_inside(struct kl_dims *dims, const struct kl_contract *contract, size_t x,
			 size_t y)
{
	int64_t own_x = dims->v[x], own_y = dims->v[y];

	for (int sum = 0; sum <= 2 * (MULTIPLES - 1); sum++)
		for (int power = 0; power < MULTIPLES && power <= sum; power++) {
			if (sum - power >= MULTIPLES || (x == y && power != sum))
				continue;
			dims->v[y] = round_up(own_y, sum - power);
			dims->v[x] = round_up(own_x, power);
			if (is_inside(contract, dims))
				return true;
		}
	return false;
}

/* --- axes ------------------------------------------------------------------------------------- */

/* Return true if the domain has points with several sizes of a dim, all other dims as in the case. */
static bool does_vary(const struct kl_contract *contract, size_t dim)
{
	struct kl_dims dims = contract->dims;

	for (int64_t size = 1; size <= 1000000; size *= 10) {
		dims.v[dim] = size;
		if (round_inside(&dims, contract, dim, dim) && dims.v[dim] != contract->dims.v[dim])
			return true;
	}
	return false;
}

static bool is_of_output(const struct kl_contract *contract, size_t dim)
{
	bool used[KL_MAX_DIMS] = { false };

	for (size_t i = 0; i < contract->nargs; i++)
		for (size_t axis = 0;
		     kl_arg_kind_is_output(contract->arg[i].kind) && axis < contract->arg[i].naxes;
		     axis++)
			kl_expr_uses(contract->arg[i].shape[axis], used);
	return used[dim];
}

/* Choose the axes: dims that vary, those of the output first. Returns how many were chosen. */
static int choose_axes(struct kl_grid *grid, const struct kl_contract *contract, const bool *varies)
{
	int n = 0;

	/* of two dims of the output, the first is drawn across the map and the second upward */
	for (int output = 1; output >= 0; output--)
		for (size_t i = 0; i < contract->dims.n && n < 2; i++)
			if (varies[i] && is_of_output(contract, i) == (output == 1)) {
				if (!n)
					grid->x = i;
				grid->y = i;
				n++;
			}
	return n;
}

/* --- points ----------------------------------------------------------------------------------- */

struct planning {
	struct kl_grid *grid;
	const struct kl_contract *contract;
	int64_t max_bytes;
};

static void add_point(struct planning *planning, const struct kl_dims *dims, int level)
{
	struct kl_grid *grid = planning->grid;
	int64_t bytes = 0;

	for (size_t i = 0; i < grid->n; i++)
		if (!memcmp(grid->point[i].dims.v, dims->v, dims->n * sizeof(*dims->v)))
			return;
	if (kl_grid_bytes(&bytes, planning->contract, dims) < 0)
		kl_error_clear();
	if (bytes > planning->max_bytes) {
		grid->too_large++;
		return;
	}
	if (grid->n == MOST_POINTS)
		return;
	KL_GROW(grid->point, grid->n + 1, grid->alloc);
	grid->point[grid->n++] = (struct kl_grid_point){ *dims, bytes, level };
}

/* List the sizes of the levels up to `level`. */
static size_t list_sizes(int64_t *out, int level)
{
	int64_t decade = 1;
	size_t n = 0;

	for (int i = 0; i < DECADES; i++, decade *= 10)
		for (int at = 0; at <= level; at++)
			for (int k = 0; k < 3 && sizes[at][k]; k++)
				if (sizes[at][k] * decade % 10 == 0)
					out[n++] = sizes[at][k] * decade / 10;
	return n;
}

static void add_level(struct planning *planning, const bool *varies, int level)
{
	int64_t size[DECADES * KL_GRID_LEVELS * 3];
	size_t n = list_sizes(size, level), x = planning->grid->x, y = planning->grid->y;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < (x == y ? 1 : n); k++) {
			struct kl_dims dims = planning->contract->dims;

			dims.v[x] = size[i];
			if (x != y)
				dims.v[y] = size[k];
			if (round_inside(&dims, planning->contract, x, y))
				add_point(planning, &dims, level);
		}
	for (size_t dim = 0; dim < planning->contract->dims.n; dim++)
		for (size_t i = 0; varies[dim] && dim != x && dim != y && i < n; i++) {
			struct kl_dims dims = planning->contract->dims;

			dims.v[dim] = size[i];
			if (round_inside(&dims, planning->contract, dim, dim))
				add_point(planning, &dims, level);
		}
}

static int compare_points(const void *left_point, const void *right_point)
{
	const struct kl_grid_point *left = left_point, *right = right_point;

	if (left->level != right->level)
		return left->level - right->level;
	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? -1 : 1;
	return memcmp(left->dims.v, right->dims.v, sizeof(left->dims.v));
}

int kl_grid_plan(struct kl_grid *out, const struct kl_contract *contract, int64_t max_bytes)
{
	struct planning planning = { out, contract, max_bytes };
	bool varies[KL_MAX_DIMS] = { false };

	*out = (struct kl_grid){ 0 };
	if (!contract->ndomain)
		return kl_error(KL_EINVALID,
				"%s has no domain, so it promises nothing for other sizes than "
				"those that it lists",
				contract->name);
	for (size_t i = 0; i < contract->dims.n; i++)
		varies[i] = does_vary(contract, i);
	if (!choose_axes(out, contract, varies))
		return kl_error(KL_EINVALID,
				"the domain of %s allows no other sizes than those of the case",
				contract->name);
	for (int level = 0; level < KL_GRID_LEVELS; level++)
		add_level(&planning, varies, level);
	qsort(out->point, out->n, sizeof(*out->point), compare_points);
	return 0;
}
