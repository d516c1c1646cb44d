/* SPDX-License-Identifier: Apache-2.0 */
/* lift_bounds - derives bounds of sizes and profile figures that are unlikely to be chance */
#include <string.h>

#include "base/rng.h"
#include "learn/lift_parts.h"

#define MAX_SIZES 4
#define LEAST_POINTS 8 /* fewest decided points from which a bound is derived */
/*
 * number of shuffles of the outcomes to try, and maximum number of shuffles that may have a bound,
 * too
 */
#define SHUFFLES 1000
#define MOST_LUCKY 50
/* least factor between the two values nearest to the bound, one with a gain and one without */
#define WIDE 2

static const struct kl_contract *contract_at(const struct kl_lift_finder *finder, size_t i)
{
	return finder->points->v[i].t->from->contract;
}

/* --- bounds of sizes and profile figures ------------------------------------------------------ */

/* Only points with these values are compared; NULL for any value. */
struct frame {
	const char *op, *dtype, *platform;
};

/* A bound of `key` that separates points with a gain from points without one. */
struct parting {
	const char *key;
	bool above; /* points with a gain have the greater values */
	/* values of `key` nearest to the bound, in millionths: with a gain; without one */
	int64_t gain, none;
};

static bool is_in(const struct kl_lift_finder *finder, const struct frame *frame, size_t i)
{
	const struct kl_lift_point *point = &finder->points->v[i];

	return kl_lift_is_here(finder, i) &&
	       (kl_lift_is_faster(finder, i) || kl_lift_not_faster(finder, i)) &&
	       (!frame->op || !strcmp(contract_at(finder, i)->op, frame->op)) &&
	       (!frame->dtype || !strcmp(point->t->dtype, frame->dtype)) &&
	       !strcmp(point->t->platform, frame->platform);
}

/* --- bounds that chance gives as well --------------------------------------------------------- */

/* The decided points of a frame: their values of one key, and their outcomes. */
struct sample {
	int64_t *value;
	bool *gain;
	size_t n;
};

static void sample_release(struct sample *sample)
{
	free(sample->value);
	free(sample->gain);
}

/* Collect the decided points. Return false if `key` has no value at one of them. */
static bool read_sample(struct sample *out, const struct kl_lift_finder *finder,
			const struct frame *frame, const char *key)
{
	bool all = true;

	*out = (struct sample){ .value = kl_calloc(finder->points->n + 1, sizeof(*out->value)),
				.gain = kl_calloc(finder->points->n + 1, sizeof(*out->gain)) };
	for (size_t i = 0; i < finder->points->n; i++) {
		if (!is_in(finder, frame, i))
			continue;
		all = all && kl_known_number(&out->value[out->n],
					     &kl_lift_stand(finder->points, i)->known, key);
		out->gain[out->n++] = kl_lift_is_faster(finder, i);
	}
	return all;
}

/* Check that all values with a gain lie on one side of all values without. */
static bool is_parted(const struct sample *sample)
{
	int64_t least[2] = { INT64_MAX, INT64_MAX }, most[2] = { INT64_MIN, INT64_MIN };

	for (size_t i = 0; i < sample->n; i++) {
		int side = sample->gain[i];

		least[side] = sample->value[i] < least[side] ? sample->value[i] : least[side];
		most[side] = sample->value[i] > most[side] ? sample->value[i] : most[side];
	}
	return least[1] > most[0] || most[1] < least[0];
}

static void shuffle_gains(struct sample *sample, struct kl_rng *rng)
{
	for (size_t i = sample->n; i > 1; i--) {
		size_t k = (size_t)(kl_rng_uniform(rng) * (double)i);
		bool gain = sample->gain[i - 1];

		sample->gain[i - 1] = sample->gain[k];
		sample->gain[k] = gain;
	}
}

/*
 * Check that a bound of `key` says more than chance: there are enough points, and hardly any
 * shuffle of their outcomes has a bound, too. The shuffles are the same in every run.
 */
static bool beats_chance(const struct kl_lift_finder *finder, const struct frame *frame,
			 const char *key)
{
	KL_AUTO(sample_release) struct sample sample = { 0 };
	struct kl_rng rng;
	size_t lucky = 0;

	if (!read_sample(&sample, finder, frame, key) || sample.n < LEAST_POINTS)
		return false;
	kl_rng_seed(&rng, 1);
	for (int i = 0; i < SHUFFLES && lucky <= MOST_LUCKY; i++) {
		shuffle_gains(&sample, &rng);
		lucky += is_parted(&sample);
	}
	return lucky <= MOST_LUCKY;
}

/*
 * Check that the values of `key` separate the points of a frame: `key` has a value at each point,
 * and all values with a gain lie on one side of all values without. Sets *out to the bound.
 */
static bool parts_points(struct parting *out, const struct kl_lift_finder *finder,
			 const struct frame *frame, const char *key)
{
	int64_t least[2] = { INT64_MAX, INT64_MAX }, most[2] = { INT64_MIN, INT64_MIN }, value;

	for (size_t i = 0; i < finder->points->n; i++) {
		int side = kl_lift_is_faster(finder, i);

		if (!is_in(finder, frame, i))
			continue;
		if (!kl_known_number(&value, &kl_lift_stand(finder->points, i)->known, key))
			return false;
		least[side] = value < least[side] ? value : least[side];
		most[side] = value > most[side] ? value : most[side];
	}
	if (least[0] > most[0] || least[1] > most[1] ||
	    (least[1] <= most[0] && most[1] >= least[0]))
		return false;
	*out = least[1] > most[0] ? (struct parting){ key, true, least[1], most[0] } :
				    (struct parting){ key, false, most[1], least[0] };
	return beats_chance(finder, frame, key);
}

static bool is_wide(const struct parting *parting)
{
	int64_t small = parting->above ? parting->none : parting->gain,
		large = parting->above ? parting->gain : parting->none;

	return small <= large / WIDE;
}

/* Write a condition such as "K > 64 || N > 64": true if any key is beyond its bound `none`. */
static void write_test(struct kl_buf *out, const struct parting *parting, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		kl_buf_addf(out, "%s%s %c ", i ? " || " : "", parting[i].key,
			    parting[i].above ? '>' : '<');
		kl_buf_add_decimal(out, parting[i].none);
	}
}

static void write_side(struct kl_buf *out, const struct parting *parting, size_t n, bool gain)
{
	for (size_t i = 0; i < n; i++) {
		kl_buf_addf(out, "%s%s %s ", i ? ", " : "", parting[i].key,
			    parting[i].above == gain ? ">=" : "<=");
		kl_buf_add_decimal(out, gain ? parting[i].gain : parting[i].none);
	}
}

static bool add_parting(const struct kl_lift_finder *finder, const char *id, const char *of,
			const char *op, const struct parting *parting, size_t n)
{
	KL_AUTO(kl_buf_release) struct kl_buf test = KL_BUF_INIT, text = KL_BUF_INIT;

	if (op)
		kl_buf_addf(&test, "op != '%s' || ", op);
	write_test(&test, parting, n);
	if (op)
		kl_buf_addf(&text, "in %s ", op);
	kl_buf_adds(&text, "faster at ");
	write_side(&text, parting, n, true);
	kl_buf_adds(&text, ", not at ");
	write_side(&text, parting, n, false);
	return kl_lift_add_clause(finder, id, of, test.ptr, text.ptr);
}

/*
 * Derive bounds of dims within one operator, because kernels of different operators differ in more
 * than size.
 */
static bool find_dims(const struct kl_lift_finder *finder, size_t at)
{
	const struct kl_contract *contract = contract_at(finder, at);
	const struct frame frame = { contract->op, finder->points->v[at].t->dtype,
				     finder->points->v[at].t->platform };
	struct parting partings[MAX_SIZES];
	size_t n = 0;

	for (size_t i = 0; i < contract->dims.n; i++) {
		if (!parts_points(&partings[n], finder, &frame, contract->dim_name[i]))
			continue;
		if (++n == MAX_SIZES)
			break;
	}
	return n && add_parting(finder, "sizes", contract->op, contract->op, partings, n);
}

static bool has_several_ops(const struct kl_lift_finder *finder, const struct frame *frame)
{
	const char *op = NULL;

	for (size_t i = 0; i < finder->points->n; i++) {
		if (!is_in(finder, frame, i))
			continue;
		if (op && strcmp(op, contract_at(finder, i)->op))
			return true;
		op = contract_at(finder, i)->op;
	}
	return false;
}

/*
 * Derive a bound of an extent from the points of all operators. Derive none if the extents of
 * several roles separate the points, or if the two values at the bound are close.
 */
static bool find_extent(const struct kl_lift_finder *finder, size_t at)
{
	const struct frame frame = { NULL, finder->points->v[at].t->dtype,
				     finder->points->v[at].t->platform };
	const struct kl_strvec *roles = &finder->lifter->tax->roles;
	KL_AUTO(kl_freep) char *found = NULL;
	struct parting best = { 0 };

	if (!has_several_ops(finder, &frame))
		return false;
	for (size_t i = 0; i < roles->n; i++) {
		KL_AUTO(kl_freep) char *key = kl_asprintf("extent(%s)", roles->v[i]);
		struct parting parting;

		if (!parts_points(&parting, finder, &frame, key))
			continue;
		if (found)
			return false;
		found = kl_steal(&key);
		best = parting;
		best.key = found;
	}
	return found && is_wide(&best) &&
	       add_parting(finder, "extent", finder->language, NULL, &best, 1);
}

/* Derive a bound of a profile figure of K_{i-1}. Such a figure tells how busy the device was. */
static bool find_figure(const struct kl_lift_finder *finder, size_t at)
{
	static const char *const figure[] = { "sol.dram", "sol.compute", "occupancy" };
	const struct frame frame = { NULL, NULL, finder->points->v[at].t->platform };
	struct parting parting, best = { 0 };

	for (size_t i = 0; i < KL_ARRAY_SIZE(figure); i++) {
		if (!parts_points(&parting, finder, &frame, figure[i]))
			continue;
		if (best.key)
			return false;
		best = parting;
	}
	return best.key && is_wide(&best) &&
	       add_parting(finder, "figure", finder->language, NULL, &best, 1);
}

typedef bool find_fn(const struct kl_lift_finder *f, size_t at);

static bool at_each_gain(const struct kl_lift_finder *finder, find_fn *find)
{
	bool some = false;

	for (size_t i = 0; i < finder->points->n; i++)
		if (kl_lift_is_here(finder, i) && kl_lift_is_faster(finder, i))
			some |= find(finder, i);
	return some;
}

void kl_lift_bounds(const struct kl_lift_finder *finder, bool some)
{
	if (!at_each_gain(finder, find_dims) && !at_each_gain(finder, find_extent) && !some)
		at_each_gain(finder, find_figure);
}
