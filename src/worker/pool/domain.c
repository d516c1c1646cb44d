/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/domain.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

/* maximum number of points to draw before kl_domain_draw() gives up */
#define TRIES 400
#define PRIME_LOOKS 64                /* maximum number of successive numbers to test for a prime */
#define PRIME_MOST ((int64_t)1 << 24) /* testing larger numbers would take too long */

bool kl_domain_has(struct kl_expr *const *condition, size_t ncondition, const int64_t *dim)
{
	for (size_t i = 0; i < ncondition; i++) {
		int64_t yes;

		if (kl_expr_eval(&yes, condition[i], dim) < 0) {
			kl_error_clear();
			return false;
		}
		if (!yes)
			return false;
	}
	return true;
}

/* -- numbers at which kernels fail ------------------------------------------ */

static int64_t pick_between(struct kl_rng *rng, int64_t lo, int64_t hi)
{
	return lo + (int64_t)kl_rng_below(rng, (uint64_t)(hi - lo) + 1);
}

/* Return -1, 0 or 1 at random. */
static int64_t pick_offset(struct kl_rng *rng)
{
	return pick_between(rng, -1, 1);
}

/* Return a random number in the interval; all magnitudes are equally likely. */
static int64_t pick_magnitude(struct kl_rng *rng, int64_t lo, int64_t hi)
{
	double least = log((double)(lo < 1 ? 1 : lo)), most = log((double)(hi < 1 ? 1 : hi) + 1);

	return (int64_t)exp(least + (most - least) * kl_rng_uniform(rng));
}

static bool is_prime(int64_t n)
{
	for (int64_t k = 2; k * k <= n; k++)
		if (n % k == 0)
			return false;
	return n > 1;
}

static int64_t pick_prime(struct kl_rng *rng, int64_t lo, int64_t hi)
{
	int64_t from = pick_magnitude(rng, lo, hi);

	for (int64_t k = 0; k < PRIME_LOOKS && from < PRIME_MOST; k++)
		if (is_prime(from + k))
			return from + k;
	return from;
}

/* Return a random power of two, or a number next to a power of two. */
static int64_t pick_power(struct kl_rng *rng, int64_t hi)
{
	int most = 0;

	while (most < 40 && (int64_t)2 << most <= hi)
		most++;
	return ((int64_t)1 << kl_rng_below(rng, (uint64_t)most + 1)) + pick_offset(rng);
}

/*
 * Return a small multiple of a divisor of a known value, or a number next to such a multiple: the
 * sizes of tiles are often such divisors.
 */
static int64_t pick_part(struct kl_rng *rng, int64_t known, int64_t hi)
{
	int64_t part = known;

	for (int looks = 0; looks < 16; looks++) {
		int64_t by = (int64_t)kl_rng_below(rng, 16) + 1;

		if (part > 1 && part % by == 0)
			part /= by;
	}
	part = part < 1 ? 1 : part;
	return part * pick_between(rng, 1, part < hi / 3 ? 3 : 1) + pick_offset(rng);
}

static int64_t known_value(const struct kl_domain_draw *draw, size_t d, struct kl_rng *rng)
{
	return draw->known[kl_rng_below(rng, draw->nknown)][d];
}

/* -- one dim ------------------------------------------------------------------ */

static int64_t pick_suggestion(const struct kl_domain_draw *draw, size_t d, int64_t lo, int64_t hi,
			       struct kl_rng *rng)
{
	switch (kl_rng_below(rng, 8)) {
	case 0:
		return lo;
	case 1:
		return kl_rng_below(rng, 4) ? pick_between(rng, lo, hi) : hi;
	case 2:
	case 3:
		return pick_prime(rng, lo, hi);
	case 4:
		return pick_power(rng, hi);
	case 5:
		return pick_part(rng, known_value(draw, d, rng), hi);
	case 6:
		return known_value(draw, d, rng) + pick_offset(rng);
	default:
		return pick_magnitude(rng, lo, hi);
	}
}

/* Return a random divisor of `of` in the interval; 0 if none was found. */
static int64_t pick_divisor(struct kl_rng *rng, int64_t of, int64_t lo, int64_t hi)
{
	int64_t found = 0, n = 0;

	for (int64_t k = lo < 1 ? 1 : lo; k <= hi && k <= of && k < (1 << 16); k++)
		if (of % k == 0 && kl_rng_below(rng, (uint64_t)++n) == 0)
			found = k;
	return found;
}

/* Pick a value of the range that is at most `most`. Returns false if there is none. */
static bool pick_value(int64_t *out, const struct kl_domain_draw *draw,
		       const struct kl_domain_range *range, size_t d, int64_t most,
		       struct kl_rng *rng)
{
	int64_t hi = range->hi < most ? range->hi : most, count, first, value;

	first = range->lo + (((range->rest - range->lo) % range->step) + range->step) % range->step;
	if (first > hi)
		return false;
	if (range->multiple) {
		*out = pick_divisor(rng, range->multiple, first, hi);
		return *out > 0;
	}
	count = (hi - first) / range->step;
	/*
	 * if values must be a step apart, kernels often fail at certain numbers of steps, so in
	 * half of the cases pick the number of steps as values are picked otherwise
	 */
	if (range->step > 1 && kl_rng_below(rng, 2)) {
		value = pick_suggestion(draw, d, 0, count, rng);
	} else {
		value = pick_suggestion(draw, d, first, hi, rng);
		value = (value - first + (value < first ? 0 : range->step / 2)) / range->step;
	}
	value = value < 0 ? 0 : value > count ? count : value;
	*out = first + value * range->step;
	return true;
}

/* -- a point -------------------------------------------------------------------- */

/*
 * Return the range of dim `d` before any condition narrows it. It includes 0 only if a known point
 * has 0 there.
 */
static struct kl_domain_range whole_range(const struct kl_domain_draw *draw, size_t d)
{
	struct kl_domain_range range = { .lo = 1, .hi = draw->most[d], .step = 1 };

	for (size_t i = 0; i < draw->nknown; i++)
		range.lo = draw->known[i][d] < range.lo ? draw->known[i][d] : range.lo;
	range.lo = range.lo < 0 ? 0 : range.lo;
	range.lo = draw->least[d] > range.lo ? draw->least[d] : range.lo;
	return range;
}

static double factor_of(int64_t value)
{
	return value > 1 ? (double)value : 1;
}

/* Return the smallest product that the dims without a value, except `d`, can have. */
static double least_rest(const struct kl_domain_draw *draw, size_t d, const int64_t *dim,
			 const bool *known, struct kl_rng *rng)
{
	double volume = 1;

	for (size_t i = 0; i < draw->ndim; i++) {
		struct kl_domain_range range = whole_range(draw, i);

		if (known[i] || i == d)
			continue;
		kl_domain_narrow(&range, draw->condition, draw->ncondition, i, dim, known, rng);
		volume *= factor_of(range.lo);
	}
	return volume;
}

static bool draw_dim(const struct kl_domain_draw *draw, size_t d, int64_t *dim, bool *known,
		     double *volume, struct kl_rng *rng)
{
	struct kl_domain_range range = whole_range(draw, d);
	double room = draw->volume / *volume / least_rest(draw, d, dim, known, rng);

	if (!kl_domain_narrow(&range, draw->condition, draw->ncondition, d, dim, known, rng))
		return false;
	room = room < 1 ? 1 : room < (double)range.hi ? room : (double)range.hi;
	if (!pick_value(&dim[d], draw, &range, d, (int64_t)room, rng))
		return false;
	known[d] = true;
	*volume *= factor_of(dim[d]);
	return true;
}

static bool try_point(int64_t *dim, const struct kl_domain_draw *draw, struct kl_rng *rng)
{
	size_t order[KL_MAX_DIMS];
	bool known[KL_MAX_DIMS] = { false };
	double volume = 1;

	for (size_t i = 0; i < draw->ndim; i++)
		order[i] = i;
	kl_rng_shuffle(rng, order, draw->ndim, sizeof(*order));
	for (size_t i = 0; i < draw->ndim; i++)
		if (!draw_dim(draw, order[i], dim, known, &volume, rng))
			return false;
	return volume <= draw->volume && kl_domain_has(draw->condition, draw->ncondition, dim) &&
	       (!draw->fits || draw->fits(draw->ctx, dim));
}

int kl_domain_draw(int64_t *dim, const struct kl_domain_draw *draw, struct kl_rng *rng)
{
	int64_t value[KL_MAX_DIMS] = { 0 };

	for (int i = 0; i < TRIES; i++) {
		if (!try_point(value, draw, rng))
			continue;
		memcpy(dim, value, draw->ndim * sizeof(*dim));
		return 0;
	}
	return KL_ENO;
}
