/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/dispatch.h"

#include <math.h>

/* --- a guard against failures ----------------------------------------------------------------- */

#define MOST_DIVISOR 256

static bool is_useful(const struct kl_when *when, const struct kl_when_point *point)
{
	return kl_useful_holds(&when->useful, kl_when_figure(when, point, when->useful.figure));
}

/* Return true if b fails at a point where the condition of the map holds. */
static bool fails(const struct kl_when *when, const struct kl_when_point *point)
{
	return point->b.end == KL_WHEN_FAIL && is_useful(when, point);
}

static bool guard_holds(const struct kl_dispatch_guard *guard, const struct kl_dims *dims)
{
	if (!guard->there)
		return true;
	return guard->divisor ? dims->v[guard->dim] % guard->divisor == 0 :
				dims->v[guard->dim] >= guard->least;
}

/* Check that the guard excludes every failure, and not every point with a gain. */
static bool does_guard(const struct kl_dispatch_guard *guard, const struct kl_when *when)
{
	size_t gains = 0;

	for (size_t i = 0; i < when->n; i++) {
		const struct kl_when_point *point = &when->point[i];

		if (!guard_holds(guard, &point->dims))
			continue;
		if (fails(when, point))
			return false;
		gains += kl_when_gains(point) && is_useful(when, point);
	}
	return gains > 0;
}

static int64_t largest_failure(const struct kl_when *when, size_t dim)
{
	int64_t largest = 0;

	for (size_t i = 0; i < when->n; i++)
		if (fails(when, &when->point[i]) && when->point[i].dims.v[dim] > largest)
			largest = when->point[i].dims.v[dim];
	return largest;
}

/* Return the smallest size of a dim above that of every failure at which a point passes; 0: none. */
static int64_t least_pass(const struct kl_when *when, size_t dim)
{
	int64_t above = largest_failure(when, dim), least = 0;

	for (size_t i = 0; i < when->n; i++) {
		int64_t size = when->point[i].dims.v[dim];

		if (when->point[i].b.end == KL_WHEN_PASS && size > above &&
		    (!least || size < least))
			least = size;
	}
	return least;
}

/* Find the weakest guard: a multiple of the smallest power of two, else a least size. */
static bool find_guard(struct kl_dispatch_guard *out, const struct kl_when *when)
{
	struct kl_dispatch_guard guard = { .there = true };

	for (size_t i = 0; i < when->n; i++)
		guard.failures += fails(when, &when->point[i]);
	for (guard.divisor = 2; guard.divisor <= MOST_DIVISOR; guard.divisor *= 2)
		for (guard.dim = 0; guard.dim < when->contract->dims.n; guard.dim++)
			if (does_guard(&guard, when)) {
				*out = guard;
				return true;
			}
	guard.divisor = 0;
	for (guard.dim = 0; guard.dim < when->contract->dims.n; guard.dim++) {
		guard.least = least_pass(when, guard.dim);
		if (guard.least && does_guard(&guard, when)) {
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
	return dispatch->some && is_useful(when, point) &&
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

void kl_dispatch_choose(struct kl_dispatch *out, const struct kl_when *when)
{
	bool failure = false;

	*out = (struct kl_dispatch){ .some = true };
	for (size_t i = 0; i < when->n; i++)
		failure |= fails(when, &when->point[i]);
	switch (when->useful.end) {
	case KL_USEFUL_UNKNOWN:
		out->why = when->useful.why;
		break;
	case KL_USEFUL_NEVER:
		out->why = "B was shown to be faster at no point";
		break;
	case KL_USEFUL_ALWAYS:
	case KL_USEFUL_BOUND:
		if (failure && !find_guard(&out->guard, when))
			out->why = "B fails at some points, and no condition on one dim excludes "
				   "all of them";
		break;
	}
	out->some = !out->why;
	count_points(out, when);
}
