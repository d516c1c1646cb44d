/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/points.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "probe/points_parts.h"

#define MAX_BYTES ((int64_t)32 << 20)  /* maximum total size of a point's tensors, in bytes */
#define MAX_VOLUME ((double)(1 << 24)) /* maximum product of a point's dims */
#define MAX_VALUE 4096                 /* maximum value of a dim that is changed */
#define BASES 3                        /* points of the contract that others are made from */
#define ROUND_SIZE 96                  /* a multiple of most tiles */
#define PAIR_VALUES 8                  /* values of each dim in a pair */
#define GRID_TRIES 16                  /* for each point to take, look at this many of a grid */

const char *const kl_probe_value_names[] = { "plain", "denormal", "inf", "nan", NULL };

void kl_probe_points_release(struct kl_probe_points *points)
{
	free(points->v);
	*points = (struct kl_probe_points){ .n = 0 };
}

char *kl_probe_point_words(const struct kl_contract *contract, const struct kl_probe_point *point)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < point->dims.n; i++)
		kl_buf_addf(&buf, "%s%s = %" PRId64, i ? ", " : "", contract->dim_name[i],
			    point->dims.v[i]);
	if (point->values != KL_PROBE_PLAIN)
		kl_buf_addf(&buf, "%svalues = %s", buf.len ? ", " : "",
			    kl_probe_value_names[point->values]);
	if (point->base)
		kl_buf_addf(&buf, "%salign(%s) = %" PRId64, buf.len ? ", " : "",
			    contract->arg[point->tensor].name, point->base);
	return kl_buf_detach(&buf);
}

char *kl_probe_point_base(const struct kl_contract *contract, const struct kl_probe_point *point)
{
	return point->base ?
		       kl_asprintf("%s=%" PRId64, contract->arg[point->tensor].name, point->base) :
		       NULL;
}

bool kl_probe_has_address(const struct kl_contract *contract, size_t arg)
{
	const struct kl_language *language = contract->language;

	return (language == &kl_language_c || language == &kl_language_cpp) &&
	       !contract->adapters.n && kl_arg_kind_is_tensor(contract->arg[arg].kind) &&
	       !contract->arg[arg].returned;
}

/* --- the limits ------------------------------------------------------------------------------- */

static double volume_of(const struct kl_dims *dims)
{
	double volume = 1;

	for (size_t i = 0; i < dims->n; i++)
		volume *= (double)dims->v[i];
	return volume;
}

/* Return the bytes of a point's tensors; -1 if the contract has no such point. */
static int64_t bytes_of(const struct kl_contract *contract, const struct kl_dims *dims)
{
	int64_t bytes = -1;

	if (kl_contract_bytes(&bytes, contract, dims) < 0) {
		kl_error_clear();
		return -1;
	}
	return bytes;
}

static bool is_affordable(const struct kl_contract *contract, const struct kl_dims *dims)
{
	int64_t bytes = bytes_of(contract, dims);

	return bytes >= 0 && bytes <= MAX_BYTES && volume_of(dims) <= MAX_VOLUME;
}

static bool is_same(const struct kl_probe_point *left, const struct kl_probe_point *right)
{
	return left->values == right->values && left->base == right->base &&
	       (!left->base || left->tensor == right->tensor) &&
	       !memcmp(left->dims.v, right->dims.v, left->dims.n * sizeof(*left->dims.v));
}

static bool is_inside(const struct kl_contract *contract, const struct kl_probe_point *point)
{
	bool inside = kl_contract_in_domain(contract, &point->dims) == 0;

	kl_error_clear();
	if (point->values == KL_PROBE_PLAIN)
		return inside;
	return inside &&
	       !contract->values.undefined[point->values == KL_PROBE_NAN ? KL_VALUE_NAN :
					   point->values == KL_PROBE_INF ? KL_VALUE_INF :
									   KL_VALUE_DENORMAL];
}

bool kl_probe_points_add(struct kl_probe_points *points, const struct kl_contract *contract,
			 const struct kl_probe_point *point)
{
	for (size_t i = 0; i < points->n; i++)
		if (is_same(&points->v[i], point))
			return false;
	points->total++;
	if (!is_affordable(contract, &point->dims)) {
		points->large++;
		return false;
	}
	KL_GROW(points->v, points->n + 1, points->alloc);
	points->v[points->n] = *point;
	points->v[points->n++].outside = !is_inside(contract, point);
	return true;
}

/* --- the values of a dim ---------------------------------------------------------------------- */

struct values {
	int64_t v[256];
	size_t n;
};

static void add_value(struct values *values, int64_t value)
{
	for (size_t i = 0; i < values->n; i++)
		if (values->v[i] == value)
			return;
	if (value >= 1 && value <= MAX_VALUE && values->n < KL_ARRAY_SIZE(values->v))
		values->v[values->n++] = value;
}

/* Add a number with the number below and above it. */
static void add_around(struct values *values, int64_t value)
{
	add_value(values, value - 1);
	add_value(values, value + 1);
	add_value(values, value);
}

/*
 * List the values of a dim. The kinds of values are taken in turn, so that each is tried early: odd
 * sizes, a constant, a power of two, an odd multiple of a power of two.
 */
static void list_values(struct values *out, const struct kl_probe_points_of *of)
{
	static const int64_t primes[] = { 1, 3, 7, 5, 2, 13, 11, 17, 31, 61, 127, 257, 509, 1021 };
	size_t turns = KL_ARRAY_SIZE(primes);

	if (of->nconstant > turns)
		turns = of->nconstant;
	for (size_t i = 0; i < turns; i++) {
		if (i < KL_ARRAY_SIZE(primes))
			add_value(out, primes[i]);
		if (i < of->nconstant)
			add_around(out, of->constant[i]);
		if (i < 10) {
			add_around(out, (int64_t)4 << i);
			add_value(out, (int64_t)6 << i);
			add_value(out, (int64_t)10 << i);
		}
	}
}

/* --- points of the contract ------------------------------------------------------------------- */

static int by_volume(const void *left, const void *right)
{
	double diff = volume_of(left) - volume_of(right);

	return diff < 0 ? -1 : diff > 0;
}

/*
 * Choose the points from which others are made: the median, the largest and the smallest of the
 * affordable points of the contract. If none is affordable, the smallest, with dims cut in halves.
 */
static size_t choose_bases(struct kl_dims base[BASES], const struct kl_contract *contract)
{
	size_t all = kl_contract_npoints(contract), n = 0;
	KL_AUTO(kl_freep) struct kl_dims *dims = kl_calloc(all + 1, sizeof(*dims));

	for (size_t i = 0; i < all; i++)
		if (is_affordable(contract, kl_contract_point(contract, i, NULL)))
			dims[n++] = *kl_contract_point(contract, i, NULL);
	if (n) {
		const size_t at[BASES] = { n / 2, n - 1, 0 };

		qsort(dims, n, sizeof(*dims), by_volume);
		for (size_t i = 0; i < BASES; i++)
			base[i] = dims[at[i]];
		return BASES;
	}
	base[0] = *kl_contract_point(contract, 0, NULL);
	for (size_t i = 0; !is_affordable(contract, &base[0]) && i < 64 * base[0].n; i++)
		if (base[0].v[i % base[0].n] > 1)
			base[0].v[i % base[0].n] /= 2;
	return 1;
}

/*
 * Make a point whose sizes are multiples of most tile sizes; dims of size 1 stay 1. A kernel that
 * is right only for whole tiles in several dims fails at the points made from the other bases,
 * whichever dim is changed there.
 */
static bool make_round(struct kl_dims *out, const struct kl_dims *base,
		       const struct kl_contract *contract)
{
	for (int64_t size = ROUND_SIZE; size >= 12; size /= 2) {
		*out = *base;
		for (size_t i = 0; i < out->n; i++)
			if (out->v[i] > 1)
				out->v[i] = size;
		if (is_affordable(contract, out))
			return true;
	}
	return false;
}

/* --- one factor at a time, then pairs --------------------------------------------------------- */

/* The lists from which points are made; the dims of the user's grid have lists of their own. */
struct plan {
	const struct kl_probe_points_of *of;
	struct kl_dims base[BASES + 1];
	size_t nbase;
	struct values values[KL_MAX_DIMS];
	struct values classes; /* enum kl_probe_values, without the plain class */
};

static void plan_lists(struct plan *plan, const struct kl_probe_points_of *of)
{
	plan->of = of;
	plan->nbase = choose_bases(plan->base, of->contract);
	plan->nbase += make_round(&plan->base[plan->nbase], &plan->base[0], of->contract);
	for (size_t i = 0; i < of->contract->dims.n; i++)
		list_values(&plan->values[i], of);
	for (int i = KL_PROBE_PLAIN + 1; i < KL_PROBE_VALUES; i++)
		plan->classes.v[plan->classes.n++] = i;
}

static void add_point(struct kl_probe_points *out, const struct plan *plan,
		      const struct kl_probe_point *point)
{
	if (out->n < (plan->of->most ? plan->of->most : KL_PROBE_MOST))
		kl_probe_points_add(out, plan->of->contract, point);
	else
		out->total++;
}

static void add_plain(struct kl_probe_points *out, const struct plan *plan,
		      const struct kl_dims *dims)
{
	add_point(out, plan, &(struct kl_probe_point){ .dims = *dims });
}

static void add_singles(struct kl_probe_points *out, const struct plan *plan, size_t turn)
{
	for (size_t base = 0; base < plan->nbase; base++)
		for (size_t dim = 0; dim < plan->base[base].n; dim++) {
			struct kl_dims dims = plan->base[base];

			if (turn >= plan->values[dim].n)
				continue;
			dims.v[dim] = plan->values[dim].v[turn];
			add_plain(out, plan, &dims);
		}
}

static void add_pairs(struct kl_probe_points *out, const struct plan *plan, size_t left,
		      size_t right)
{
	for (size_t i = 0; i < PAIR_VALUES * PAIR_VALUES; i++) {
		/* diagonals first, so that both dims change early */
		size_t one = i % PAIR_VALUES, two = (i + i / PAIR_VALUES) % PAIR_VALUES;
		struct kl_dims dims = plan->base[0];

		if (one >= plan->values[left].n || two >= plan->values[right].n)
			continue;
		dims.v[left] = plan->values[left].v[one];
		dims.v[right] = plan->values[right].v[two];
		add_plain(out, plan, &dims);
	}
}

/*
 * Add points at which the address of one tensor is a multiple of a small power of two, while the
 * addresses of all other tensors suit every kernel.
 */
static void add_addresses(struct kl_probe_points *out, const struct plan *plan, size_t tensor)
{
	static const int64_t bases[] = { 1, 2, 4, 16, 32, 8, 64, 128 };
	const struct kl_contract *contract = plan->of->contract;
	int64_t least = (int64_t)kl_dtype_bytes(contract->arg[tensor].dtype);

	if (!kl_probe_has_address(contract, tensor))
		return;
	/* use only two bases: the median of the contract's points and the point of whole tiles */
	for (size_t base = 0; base<plan->nbase; base += plan->nbase> 1 ? plan->nbase - 1 : 1)
		for (size_t i = 0; i < KL_ARRAY_SIZE(bases); i++)
			if (bases[i] >= least)
				add_point(out, plan,
					  &(struct kl_probe_point){ .dims = plan->base[base],
								    .tensor = tensor,
								    .base = bases[i] });
}

static void add_factors(struct kl_probe_points *out, const struct plan *plan)
{
	size_t dims = plan->of->contract->dims.n;

	for (size_t base = 0; base < plan->nbase; base++)
		add_plain(out, plan, &plan->base[base]);
	for (size_t i = 0; i < plan->classes.n; i++)
		for (size_t base = 0; base < plan->nbase; base++)
			add_point(out, plan,
				  &(struct kl_probe_point){
					  .dims = plan->base[base],
					  .values = (enum kl_probe_values)plan->classes.v[i],
				  });
	for (size_t i = 0; i < plan->of->contract->nargs; i++)
		add_addresses(out, plan, i);
	for (size_t turn = 0; turn < KL_ARRAY_SIZE(plan->values[0].v); turn++)
		add_singles(out, plan, turn);
	for (size_t left = 0; left < dims; left++)
		for (size_t right = left + 1; right < dims; right++)
			add_pairs(out, plan, left, right);
}

/* --- the user's grid -------------------------------------------------------------------------- */

static uint64_t common_divisor(uint64_t left, uint64_t right)
{
	while (right) {
		uint64_t rest = left % right;

		left = right;
		right = rest;
	}
	return left;
}

/*
 * Return a step that visits every number below `count` once. It is close to the golden ratio of
 * `count`, so that the first numbers are spread evenly, and each axis varies in any part of a grid.
 */
static uint64_t grid_step(uint64_t count)
{
	uint64_t step = (uint64_t)((double)count * 0.6180339887);

	while (step > 1 && common_divisor(count, step) != 1)
		step--;
	return step ? step : 1;
}

/*
 * Add the grid's point number `at`, whose dims that the grid does not name are those of the base.
 */
static void add_grid_point(struct kl_probe_points *out, const struct plan *plan, uint64_t at)
{
	const struct kl_probe_points_of *of = plan->of;
	struct kl_probe_point point = { .dims = plan->base[0] };

	for (size_t i = 0; i < of->naxis; i++) {
		int64_t value = of->axis[i].v[at % of->axis[i].n];
		struct kl_probe_axis_of what = kl_probe_axis_find(of->contract, of->axis[i].dim);

		at /= of->axis[i].n;
		if (what.kind == KL_PROBE_AXIS_DIM) {
			point.dims.v[what.at] = value;
		} else if (what.kind == KL_PROBE_AXIS_VALUES) {
			point.values = (enum kl_probe_values)value;
		} else {
			point.tensor = what.at;
			point.base = value;
		}
	}
	add_point(out, plan, &point);
}

static void add_grid(struct kl_probe_points *out, const struct plan *plan)
{
	const struct kl_probe_points_of *of = plan->of;
	size_t most = of->most ? of->most : KL_PROBE_MOST;
	double total = 1;
	uint64_t count, step, at = 0;

	for (size_t i = 0; i < of->naxis; i++)
		total *= (double)of->axis[i].n;
	count = total < 1e15 ? (uint64_t)total : (uint64_t)1e15;
	step = grid_step(count);
	for (uint64_t i = 0; i < count && i < GRID_TRIES * most && out->n < most; i++) {
		add_grid_point(out, plan, at);
		at = (at + step) % count;
	}
	out->total = total;
}

/* --- the order -------------------------------------------------------------------------------- */

bool kl_probe_points_promising(const struct kl_contract *contract, const struct kl_dims *dims)
{
	struct kl_contract part = *contract;

	for (size_t i = 0; i < contract->ndomain; i++) {
		if (strchr(contract->domain_text[i], '%') || strstr(contract->domain_text[i], "=="))
			continue;
		part.domain = &contract->domain[i];
		part.domain_text = &contract->domain_text[i];
		part.ndomain = 1;
		if (kl_contract_in_domain(&part, dims) < 0) {
			kl_error_clear();
			return false;
		}
	}
	return true;
}

/* Move the points that the oracle can hardly judge to the end. */
static void order_points(struct kl_probe_points *points, const struct kl_contract *contract)
{
	struct kl_probe_point *sorted = kl_calloc(points->n + 1, sizeof(*sorted));
	size_t n = 0;

	for (int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < points->n; i++)
			if (kl_probe_points_promising(contract, &points->v[i].dims) != turn)
				sorted[n++] = points->v[i];
	free(points->v);
	points->v = sorted;
	points->alloc = points->n + 1;
}

int kl_probe_points_make(struct kl_probe_points *out, const struct kl_probe_points_of *of)
{
	struct plan *plan;
	int err = kl_probe_axes_check(of);

	*out = (struct kl_probe_points){ .n = 0 };
	if (err < 0)
		return err;
	plan = kl_calloc(1, sizeof(*plan));
	plan_lists(plan, of);
	if (of->naxis)
		add_grid(out, plan);
	else
		add_factors(out, plan);
	free(plan);
	order_points(out, of->contract);
	return 0;
}
