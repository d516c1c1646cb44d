/* SPDX-License-Identifier: Apache-2.0 */
#include "event/profile.h"

#include <math.h>
#include <string.h>

#include "event/speed.h"

#define MILLION 1000000

void kl_profile_release(struct kl_profile *profile)
{
	for (size_t i = 0; i < profile->npoint; i++)
		free(profile->point[i].vs.v);
	free(profile->point);
	free(profile->vs.v);
	json_decref(profile->points);
	*profile = (struct kl_profile){ 0 };
}

/* --- comparisons ---------------------------------------------------------------- */

static bool is_parent(const struct kl_comparison *comparison)
{
	return !strcmp(comparison->what, "parent");
}

const struct kl_comparison *kl_comparisons_find(const struct kl_comparisons *vs, const char *what)
{
	for (size_t i = 0; i < vs->n; i++)
		if (!strcmp(vs->v[i].what, what))
			return &vs->v[i];
	return NULL;
}

const struct kl_comparison *kl_comparisons_parent(const struct kl_comparisons *vs)
{
	for (size_t i = 0; i < vs->n; i++)
		if (is_parent(&vs->v[i]))
			return &vs->v[i];
	return NULL;
}

const struct kl_comparison *kl_comparisons_baseline(const struct kl_comparisons *vs)
{
	for (size_t i = 0; i < vs->n; i++)
		if (!is_parent(&vs->v[i]))
			return &vs->v[i];
	return NULL;
}

static int64_t invert_ppm(int64_t ppm)
{
	return ppm > 0 ? (MILLION * (int64_t)MILLION + ppm / 2) / ppm : 0;
}

struct kl_comparison kl_comparison_inverted(const struct kl_comparison *comparison)
{
	enum kl_speed speed = comparison->speed;

	return (struct kl_comparison){
		.what = comparison->what,
		.surface = comparison->surface,
		.ratio.ppm = invert_ppm(comparison->ratio.ppm),
		.ratio.lo = invert_ppm(comparison->ratio.hi),
		.ratio.hi = invert_ppm(comparison->ratio.lo),
		.speed = speed == KL_SPEED_FAST ? KL_SPEED_SLOW :
			 speed == KL_SPEED_SLOW ? KL_SPEED_FAST :
						  speed,
	};
}

/* --- reading an event's profile ------------------------------------------------- */

static void read_comparisons(struct kl_comparisons *out, const json_t *list)
{
	size_t i;
	json_t *item;

	*out = (struct kl_comparisons){ 0 };
	if (!json_array_size(list))
		return;
	out->v = kl_calloc(json_array_size(list), sizeof(*out->v));
	json_array_foreach(list, i, item)
		if (json_is_object(item))
			out->v[out->n++] = (struct kl_comparison){
				.what = kl_json_str_or(item, "what", ""),
				.surface = kl_json_str_or(item, "surface", ""),
				.ratio.ppm = kl_json_int_or(item, "ratio_ppm", 0),
				.ratio.lo = kl_json_int_or(item, "lo_ppm", 0),
				.ratio.hi = kl_json_int_or(item, "hi_ppm", 0),
				.speed = kl_speed_parse(kl_json_str_or(item, "verdict", NULL)),
				.doc = item,
			};
}

/* Return the distance from 1 to the farther end of the A/A interval, in ppm. */
static int64_t reach_of(const json_t *aa)
{
	int64_t lo = kl_json_int_or(aa, "lo_ppm", 0),
		hi = kl_json_int_or(aa, "hi_ppm", 2 * MILLION);

	return hi - MILLION > MILLION - lo ? hi - MILLION : MILLION - lo;
}

/* Read the points of a result or an event; an event has points only if it has several cases. */
static void read_points(struct kl_profile *out, json_t *points)
{
	size_t i;
	json_t *item;

	if (!json_array_size(points))
		return;
	out->points = json_incref(points);
	out->npoint = json_array_size(points);
	out->point = kl_calloc(out->npoint, sizeof(*out->point));
	json_array_foreach(points, i, item) {
		out->point[i] = (struct kl_profile_point){
			.id = kl_json_str_or(item, "id", ""),
			.ns = kl_json_int_or(item, "ns", 0),
			.aa_ppm = reach_of(json_object_get(item, "aa")),
		};
		read_comparisons(&out->point[i].vs, json_object_get(item, "vs"));
	}
}

void kl_profile_read(struct kl_profile *out, const json_t *doc)
{
	*out = (struct kl_profile){ .there = json_is_object(doc) };
	if (!out->there)
		return;
	out->ns = kl_json_int_or(doc, "ns", 0);
	out->aa_ppm = kl_json_int_or(doc, "aa_ppm", 0);
	read_comparisons(&out->vs, json_object_get(doc, "vs"));
	read_points(out, json_object_get(doc, "points"));
}

/* --- writing an event's profile ------------------------------------------------- */

json_t *kl_comparison_json(const struct kl_comparison *comparison)
{
	json_t *out;

	if (comparison->doc)
		return json_incref((json_t *)comparison->doc);
	out = json_object();
	kl_json_set_str(out, "what", comparison->what);
	if (*comparison->surface)
		kl_json_set_str(out, "surface", comparison->surface);
	kl_json_set_int(out, "ratio_ppm", comparison->ratio.ppm);
	kl_json_set_int(out, "lo_ppm", comparison->ratio.lo);
	kl_json_set_int(out, "hi_ppm", comparison->ratio.hi);
	kl_json_set_str(out, "verdict", kl_speed_name(comparison->speed));
	return out;
}

/*
 * Return true if `vs` holds exactly the objects of `list`, in the same order, as it does when it
 * was read from `list` and not changed since. Ignore elements of `list` that are not objects.
 */
static bool is_as_read(const struct kl_comparisons *vs, const json_t *list)
{
	size_t i, n = 0;
	json_t *item;

	json_array_foreach(list, i, item)
		if (json_is_object(item) && (n == vs->n || vs->v[n++].doc != item))
			return false;
	return n == vs->n;
}

static void set_int(json_t *obj, const char *key, int64_t value, bool read)
{
	if (!read || kl_json_int_or(obj, key, 0) != value)
		kl_json_set_int(obj, key, value);
}

json_t *kl_profile_json(const struct kl_profile *profile, const json_t *doc)
{
	bool read = json_is_object(doc);
	json_t *out = read ? json_copy((json_t *)doc) : json_object(), *list;

	set_int(out, "ns", profile->ns, read);
	set_int(out, "aa_ppm", profile->aa_ppm, read);
	if (!read || !is_as_read(&profile->vs, json_object_get(doc, "vs"))) {
		list = json_array();
		for (size_t i = 0; i < profile->vs.n; i++)
			json_array_append_new(list, kl_comparison_json(&profile->vs.v[i]));
		kl_json_set(out, "vs", list);
	}
	if (profile->npoint && json_object_get(out, "points") != profile->points)
		kl_json_set(out, "points", json_incref(profile->points));
	return out;
}

/* --- computing a profile from a worker's result ------------------------------------- */

/*
 * Compute the weighted geometric means of the ratios and intervals at all points. Return false if a
 * point lacks the comparison.
 */
static bool mean_of(struct kl_comparison *out, bool *one_is_slow, const struct kl_profile *profile,
		    const int64_t *weight)
{
	double sum = 0, mid = 0, lo = 0, hi = 0;

	*one_is_slow = false;
	for (size_t i = 0; i < profile->npoint; i++) {
		const struct kl_comparison *comparison = kl_comparisons_find(&profile->point[i].vs,
									     out->what);
		double w = (double)weight[i];

		if (!comparison || comparison->ratio.ppm <= 0 || comparison->ratio.hi <= 0)
			return false;
		sum += w;
		mid += w * log((double)comparison->ratio.ppm);
		lo += w * log((double)(comparison->ratio.lo < 1 ? 1 : comparison->ratio.lo));
		hi += w * log((double)comparison->ratio.hi);
		*one_is_slow |= kl_speed_of(comparison, profile->aa_ppm) == KL_SPEED_SLOW;
	}
	out->ratio.ppm = llround(exp(mid / sum));
	out->ratio.lo = llround(exp(lo / sum));
	out->ratio.hi = llround(exp(hi / sum));
	return true;
}

static void add_means(struct kl_profile *out, const int64_t *weight, const char *parent)
{
	const struct kl_comparisons *first = &out->point[0].vs;

	out->vs.v = kl_calloc(first->n + 1, sizeof(*out->vs.v));
	for (size_t i = 0; i < first->n; i++) {
		struct kl_comparison mean = { .what = first->v[i].what, .surface = "" };
		bool one_is_slow;

		if (!mean_of(&mean, &one_is_slow, out, weight))
			continue;
		if (is_parent(&mean) && parent)
			mean.surface = parent;
		mean.speed = kl_speed_of_mean(&mean, out->aa_ppm, one_is_slow);
		out->vs.v[out->vs.n++] = mean;
	}
}

void kl_profile_of_result(struct kl_profile *out, const json_t *doc, const int64_t *weight,
			  size_t n, const char *parent)
{
	json_t *points = json_object_get(doc, "points");
	int64_t ns = 0, sum = 0;

	*out = (struct kl_profile){ 0 };
	if (!n || json_array_size(points) != n)
		return;
	points = json_deep_copy(points);
	read_points(out, points);
	json_decref(points);
	out->there = true;
	for (size_t i = 0; i < n; i++) {
		const struct kl_profile_point *point = &out->point[i];

		out->aa_ppm = point->aa_ppm > out->aa_ppm ? point->aa_ppm : out->aa_ppm;
		ns += weight[i] * point->ns;
		sum += weight[i];
	}
	out->ns = ns / sum;
	add_means(out, weight, parent);
	if (n == 1) { /* drop the only point, since the profile has the same values */
		free(out->point[0].vs.v);
		free(kl_steal(&out->point));
		out->npoint = 0;
	}
}
