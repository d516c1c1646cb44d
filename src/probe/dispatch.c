/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/dispatch.h"
#include "probe/when_parts.h"

#include <math.h>

/* --- a guard against failures ----------------------------------------------------------------- */

#define MOST_DIVISOR 256

/* The map, and the findings of probes. */
struct choosing {
	const struct kl_when *when;
	const struct kl_sound *sound;
};

/* Return true if the condition of the map and those of the probe hold at the point. */
static bool is_useful(const struct choosing *choosing, const struct kl_when_point *point)
{
	const struct kl_when *when = choosing->when;

	return kl_useful_holds(&when->useful, kl_when_figure(when, point, when->useful.figure)) &&
	       kl_sound_holds(choosing->sound, &point->dims);
}

/* Return true if b fails at a point where the condition of the map holds. */
static bool fails(const struct choosing *choosing, const struct kl_when_point *point)
{
	return point->b.end == KL_WHEN_FAIL && is_useful(choosing, point);
}

static bool guard_holds(const struct kl_dispatch_guard *guard, const struct kl_dims *dims)
{
	if (!guard->there)
		return true;
	return guard->divisor ? dims->v[guard->dim] % guard->divisor == 0 :
				dims->v[guard->dim] >= guard->least;
}

/* Return true if the guard excludes all failures and leaves a point at which b is faster. */
static bool does_guard(const struct kl_dispatch_guard *guard, const struct choosing *choosing)
{
	const struct kl_when *when = choosing->when;
	size_t gains = 0;

	for (size_t i = 0; i < when->n; i++) {
		const struct kl_when_point *point = &when->point[i];

		if (!guard_holds(guard, &point->dims))
			continue;
		if (fails(choosing, point))
			return false;
		gains += kl_when_gains(point) && is_useful(choosing, point);
	}
	return gains > 0;
}

static int64_t largest_failure(const struct choosing *choosing, size_t dim)
{
	const struct kl_when *when = choosing->when;
	int64_t largest = 0;

	for (size_t i = 0; i < when->n; i++)
		if (fails(choosing, &when->point[i]) && when->point[i].dims.v[dim] > largest)
			largest = when->point[i].dims.v[dim];
	return largest;
}

/*
 * Return the smallest size of a dim above that of every failure at which a point passes; 0 if none.
 */
static int64_t least_pass(const struct choosing *choosing, size_t dim)
{
	const struct kl_when *when = choosing->when;
	int64_t above = largest_failure(choosing, dim), least = 0;

	for (size_t i = 0; i < when->n; i++) {
		int64_t size = when->point[i].dims.v[dim];

		if (when->point[i].b.end == KL_WHEN_PASS && size > above &&
		    (!least || size < least))
			least = size;
	}
	return least;
}

/*
 * Find the weakest guard: a dim must be a multiple of the smallest power of two or, if no power
 * suffices, have a least size.
 */
static bool find_guard(struct kl_dispatch_guard *out, const struct choosing *choosing)
{
	const struct kl_when *when = choosing->when;
	struct kl_dispatch_guard guard = { .there = true };

	for (size_t i = 0; i < when->n; i++)
		guard.failures += fails(choosing, &when->point[i]);
	for (guard.divisor = 2; guard.divisor <= MOST_DIVISOR; guard.divisor *= 2)
		for (guard.dim = 0; guard.dim < when->contract->dims.n; guard.dim++)
			if (does_guard(&guard, choosing)) {
				*out = guard;
				return true;
			}
	guard.divisor = 0;
	for (guard.dim = 0; guard.dim < when->contract->dims.n; guard.dim++) {
		guard.least = least_pass(choosing, guard.dim);
		if (guard.least && does_guard(&guard, choosing)) {
			*out = guard;
			return true;
		}
	}
	return false;
}

/* --- the rule --------------------------------------------------------------------------------- */

bool kl_dispatch_takes_b(const struct kl_dispatch *dispatch, const struct kl_when *when,
			 const struct kl_when_point *point)
{
	return dispatch->some && is_useful(&(struct choosing){ when, dispatch->sound }, point) &&
	       guard_holds(&dispatch->guard, &point->dims);
}

static void add_ratio(struct kl_dispatch *out, double *sum, const struct kl_ratio *ratio)
{
	*sum += log((double)ratio->ppm);
	if (!out->ratio.lo || ratio->lo < out->ratio.lo)
		out->ratio.lo = ratio->lo;
	if (ratio->hi > out->ratio.hi)
		out->ratio.hi = ratio->hi;
}

static void count_points(struct kl_dispatch *out, const struct kl_when *when)
{
	double sum = 0;
	size_t timed = 0;

	for (size_t i = 0; i < when->n; i++) {
		const struct kl_when_point *point = &when->point[i];

		if (point->b.end != KL_WHEN_PASS || point->a.end != KL_WHEN_PASS ||
		    !kl_dispatch_takes_b(out, when, point))
			continue;
		out->chosen++;
		if (kl_when_gains(point))
			out->gains++;
		else
			out->others++;
		if (point->ratio.ppm <= 0)
			continue;
		timed++;
		add_ratio(out, &sum, &point->ratio);
	}
	if (timed)
		out->ratio.ppm = (int64_t)exp(sum / (double)timed);
}

void kl_dispatch_fit(struct kl_when *when, const struct kl_sound *sound)
{
	for (size_t i = 0; i < when->n; i++)
		when->point[i].unsound = !kl_sound_holds(sound, &when->point[i].dims);
	kl_when_fit(when);
}

void kl_dispatch_choose(struct kl_dispatch *out, const struct kl_when *when,
			const struct kl_sound *sound)
{
	const struct choosing choosing = { when, sound };
	bool failure = false;

	*out = (struct kl_dispatch){ .some = true, .sound = sound };
	for (size_t i = 0; i < when->n; i++)
		failure |= fails(&choosing, &when->point[i]);
	switch (when->useful.end) {
	case KL_USEFUL_UNKNOWN:
		out->why = when->useful.why;
		break;
	case KL_USEFUL_NEVER:
		out->why = "B was shown to be faster at no point";
		break;
	case KL_USEFUL_ALWAYS:
	case KL_USEFUL_BOUND:
		if (failure && !find_guard(&out->guard, &choosing))
			out->why = "B fails at some points, and no condition on one dim excludes "
				   "all of them";
		break;
	}
	if (sound->never)
		out->why = sound->never;
	out->some = !out->why;
	count_points(out, when);
}
