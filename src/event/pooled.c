/* SPDX-License-Identifier: Apache-2.0 */
#include "event/pooled.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/stats.h"

/* An interval of a ratio in several rounds, as logarithms. */
struct pool {
	double *mid, squares; /* estimates of the rounds; sum of the squared half-widths */
	size_t n;
};

static void add_round(struct pool *pool, int64_t mid, int64_t lo, int64_t hi)
{
	double half = log((double)(hi < 1 ? 1 : hi) / (double)(lo < 1 ? 1 : lo)) / 2;

	if (mid < 1)
		return;
	pool->mid[pool->n++] = log((double)mid);
	pool->squares += half * half;
}

static double mean_of(const double *values, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += values[i];
	return sum / (double)n;
}

static void put_interval(json_t *out, const struct pool *pool, const char *mid_key)
{
	double mid = mean_of(pool->mid, pool->n), half = sqrt(pool->squares) / (double)pool->n;
	struct kl_interval between = kl_stats_centre(pool->mid, pool->n);
	double lo = mid - half, hi = mid + half;

	if (pool->n > 1) {
		lo = fmin(lo, between.lo);
		hi = fmax(hi, between.hi);
	}
	kl_json_set_int(out, mid_key, llround(exp(mid)));
	kl_json_set_int(out, "lo_ppm", llround(exp(lo)));
	kl_json_set_int(out, "hi_ppm", llround(fmin(exp(hi), 1e15)));
}

static void add_interval(struct pool *pool, const json_t *from, const char *mid_key)
{
	add_round(pool, kl_json_int_or(from, mid_key, 0), kl_json_int_or(from, "lo_ppm", 0),
		  kl_json_int_or(from, "hi_ppm", 0));
}

/* Return the point `i` of a profile; NULL: there is none. */
static const json_t *point_at(const json_t *profile, size_t i)
{
	return json_array_get(json_object_get(profile, "points"), i);
}

static const json_t *comparison_at(const json_t *point, const char *what)
{
	size_t i;
	json_t *value;

	json_array_foreach(json_object_get(point, "vs"), i, value)
		if (!strcmp(kl_json_str_or(value, "what", ""), what))
			return value;
	return NULL;
}

/* Set the time of `out` to the geometric mean of those in `from`, of which some can be NULL. */
static void put_time(json_t *out, const json_t *const *from, size_t n)
{
	double sum = 0;
	size_t there = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t ns = kl_json_int_or(from[i], "ns", 0);

		sum += ns > 0 ? log((double)ns) : 0;
		there += ns > 0;
	}
	if (there)
		kl_json_set_int(out, "ns", llround(exp(sum / (double)there)));
}

static json_t *pool_comparison(const char *what, const json_t *const *point, size_t n)
{
	KL_AUTO(kl_freep) const json_t **from = kl_calloc(n, sizeof(*from));
	KL_AUTO(kl_freep) double *mid = kl_calloc(n, sizeof(*mid));
	struct pool pool = { .mid = mid };
	json_t *out = NULL;

	for (size_t i = 0; i < n; i++) {
		from[i] = comparison_at(point[i], what);
		if (from[i] && !out)
			out = json_deep_copy(from[i]);
		add_interval(&pool, from[i], "ratio_ppm");
	}
	if (!pool.n)
		return out;
	put_time(out, from, n);
	put_interval(out, &pool, "ratio_ppm");
	return out;
}

/* List what the point is compared with in any round. */
static json_t *pool_comparisons(const json_t *const *point, size_t n)
{
	json_t *out = json_array(), *value;
	size_t k;

	for (size_t i = 0; i < n; i++)
		json_array_foreach(json_object_get(point[i], "vs"), k, value) {
			const char *what = kl_json_str_or(value, "what", "");
			bool done = false;

			for (size_t before = 0; before < i; before++)
				done |= comparison_at(point[before], what) != NULL;
			if (!done)
				json_array_append_new(out, pool_comparison(what, point, n));
		}
	return out;
}

static json_t *pool_point(const json_t *const *point, size_t n)
{
	KL_AUTO(kl_freep) double *mid = kl_calloc(n, sizeof(*mid));
	struct pool pool = { .mid = mid };
	json_t *out = json_deep_copy(point[0]), *again = json_object();
	int64_t blocks = 0;

	for (size_t i = 0; i < n; i++) {
		add_interval(&pool, json_object_get(point[i], "aa"), "mid_ppm");
		blocks += kl_json_int_or(point[i], "blocks", 0);
	}
	put_time(out, point, n);
	kl_json_set_int(out, "blocks", blocks);
	if (pool.n)
		put_interval(again, &pool, "mid_ppm");
	kl_json_set(out, "aa", again);
	kl_json_set(out, "vs", pool_comparisons(point, n));
	return out;
}

/* Return true if all profiles have points of the same ids. */
static bool match_points(json_t *const *profile, size_t n)
{
	size_t points = json_array_size(json_object_get(profile[0], "points"));

	for (size_t i = 1; i < n; i++) {
		if (json_array_size(json_object_get(profile[i], "points")) != points)
			return false;
		for (size_t k = 0; k < points; k++)
			if (strcmp(kl_json_str_or(point_at(profile[i], k), "id", ""),
				   kl_json_str_or(point_at(profile[0], k), "id", "")) != 0)
				return false;
	}
	return points > 0;
}

json_t *kl_pooled_profile(json_t *const *profile, size_t n)
{
	KL_AUTO(kl_freep) const json_t **point = kl_calloc(n + 1, sizeof(*point));
	json_t *out, *points;

	if (!n || !match_points(profile, n))
		return NULL;
	out = json_deep_copy(profile[0]);
	points = json_array();
	for (size_t k = 0; k < json_array_size(json_object_get(profile[0], "points")); k++) {
		for (size_t i = 0; i < n; i++)
			point[i] = point_at(profile[i], k);
		json_array_append_new(points, pool_point(point, n));
	}
	kl_json_set(out, "points", points);
	return out;
}
