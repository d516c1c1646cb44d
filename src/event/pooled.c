/* SPDX-License-Identifier: Apache-2.0 */
#include "event/pooled.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/stats.h"
#include "event/profile.h"

/* The estimates and intervals of one ratio in several rounds, as logarithms. */
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

/* The same point in all rounds. */
struct rounds {
	const struct kl_profile *profile;
	size_t n, point;
};

static const struct kl_profile_point *point_in(const struct rounds *rounds, size_t i)
{
	return &rounds->profile[i].point[rounds->point];
}

static const json_t *document_of(const struct rounds *rounds, size_t i)
{
	return json_array_get(rounds->profile[i].points, rounds->point);
}

/*
 * Set the time of `out` to the geometric mean of the times in `from`; entries of `from` can be
 * NULL.
 */
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

static json_t *pool_comparison(const char *what, const struct rounds *rounds)
{
	KL_AUTO(kl_freep) const json_t **from = kl_calloc(rounds->n, sizeof(*from));
	KL_AUTO(kl_freep) double *mid = kl_calloc(rounds->n, sizeof(*mid));
	struct pool pool = { .mid = mid };
	json_t *out = NULL;

	for (size_t i = 0; i < rounds->n; i++) {
		const struct kl_comparison *comparison = kl_comparisons_find(
			&point_in(rounds, i)->vs, what);

		if (!comparison)
			continue;
		from[i] = comparison->doc;
		if (!out)
			out = json_deep_copy(from[i]);
		add_round(&pool, comparison->ratio.ppm, comparison->ratio.lo, comparison->ratio.hi);
	}
	if (!pool.n)
		return out;
	put_time(out, from, rounds->n);
	put_interval(out, &pool, "ratio_ppm");
	return out;
}

/* Return true if the point is compared with `what` in one of the first `n` rounds. */
static bool is_compared(const struct rounds *rounds, size_t n, const char *what)
{
	for (size_t i = 0; i < n; i++)
		if (kl_comparisons_find(&point_in(rounds, i)->vs, what))
			return true;
	return false;
}

/* Pool each comparison that the point has in at least one round. */
static json_t *pool_comparisons(const struct rounds *rounds)
{
	json_t *out = json_array();

	for (size_t i = 0; i < rounds->n; i++) {
		const struct kl_comparisons *vs = &point_in(rounds, i)->vs;

		for (size_t k = 0; k < vs->n; k++)
			if (!is_compared(rounds, i, vs->v[k].what))
				json_array_append_new(out, pool_comparison(vs->v[k].what, rounds));
	}
	return out;
}

static json_t *pool_point(const struct rounds *rounds)
{
	KL_AUTO(kl_freep) const json_t **from = kl_calloc(rounds->n, sizeof(*from));
	KL_AUTO(kl_freep) double *mid = kl_calloc(rounds->n, sizeof(*mid));
	struct pool pool = { .mid = mid };
	json_t *out = json_deep_copy(document_of(rounds, 0)), *again = json_object();
	int64_t blocks = 0;

	for (size_t i = 0; i < rounds->n; i++) {
		const json_t *aa = json_object_get(document_of(rounds, i), "aa");

		from[i] = document_of(rounds, i);
		add_round(&pool, kl_json_int_or(aa, "mid_ppm", 0), kl_json_int_or(aa, "lo_ppm", 0),
			  kl_json_int_or(aa, "hi_ppm", 0));
		blocks += kl_json_int_or(from[i], "blocks", 0);
	}
	put_time(out, from, rounds->n);
	kl_json_set_int(out, "blocks", blocks);
	if (pool.n)
		put_interval(again, &pool, "mid_ppm");
	kl_json_set(out, "aa", again);
	kl_json_set(out, "vs", pool_comparisons(rounds));
	return out;
}

/* Return true if all profiles have points with the same ids in the same order. */
static bool match_points(const struct kl_profile *profile, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (profile[i].npoint != profile[0].npoint)
			return false;
		for (size_t k = 0; k < profile[0].npoint; k++)
			if (strcmp(profile[i].point[k].id, profile[0].point[k].id) != 0)
				return false;
	}
	return profile[0].npoint > 0;
}

static json_t *pool_points(const struct kl_profile *profile, size_t n)
{
	struct rounds rounds = { profile, n, 0 };
	json_t *out = json_array();

	for (; rounds.point < profile[0].npoint; rounds.point++)
		json_array_append_new(out, pool_point(&rounds));
	return out;
}

json_t *kl_pooled_profile(json_t *const *doc, size_t n)
{
	KL_AUTO(kl_freep) struct kl_profile *profile = kl_calloc(n + 1, sizeof(*profile));
	json_t *out = NULL;

	for (size_t i = 0; i < n; i++)
		kl_profile_read(&profile[i], doc[i]);
	if (n && match_points(profile, n)) {
		out = json_deep_copy(doc[0]);
		kl_json_set(out, "points", pool_points(profile, n));
	}
	for (size_t i = 0; i < n; i++)
		kl_profile_release(&profile[i]);
	return out;
}
