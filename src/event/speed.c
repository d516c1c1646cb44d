/* SPDX-License-Identifier: Apache-2.0 */
#include "event/speed.h"

#include <math.h>
#include <string.h>

#define ONE 1000000.0
#define TELLS 1.1	/* where the kernel against itself reaches farther, nothing is "same" */

static double margin(const struct kl_speed *s, double least)
{
	return fmax(least, 3 * (double)s->aa_ppm / ONE);
}

const char *kl_speed_word(const struct kl_speed *s)
{
	double far = 1 + margin(s, 0.01);
	double lo = (double)s->lo_ppm / ONE, hi = (double)s->hi_ppm / ONE;

	if (lo > far)
		return "fast";
	if (hi < 1 / far)
		return "slow";
	return far <= TELLS && lo >= 1 / far && hi <= far ? "same" : "ambiguous";
}

bool kl_speed_not_slower(const struct kl_speed *s)
{
	return s->lo_ppm > 0 &&
	       ONE / (double)s->lo_ppm <= 1 + margin(s, 0.02);
}

bool kl_speed_slower(const struct kl_speed *s)
{
	return s->hi_ppm > 0 && ONE / (double)s->hi_ppm > 1 + margin(s, 0.02);
}

static int64_t aa_reach(const json_t *point)
{
	const json_t *aa = json_object_get(point, "aa");
	int64_t lo = kl_json_int_or(aa, "lo_ppm", 0);
	int64_t hi = kl_json_int_or(aa, "hi_ppm", 2000000);

	return hi - 1000000 > 1000000 - lo ? hi - 1000000 : 1000000 - lo;
}

static const json_t *comparison(const json_t *point, const char *what)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_object_get(point, "vs"), i, v)
		if (!strcmp(kl_json_str_or(v, "what", ""), what))
			return v;
	return NULL;
}

/* Weighted means of logarithms; false if a point lacks the comparison. */
static bool mean_ratio(struct kl_speed *s, bool *one_is_slow, const json_t *points,
		       const int64_t *weight, size_t n, const char *what)
{
	double sum = 0, mid = 0, lo = 0, hi = 0;

	*one_is_slow = false;
	for (size_t i = 0; i < n; i++) {
		const json_t *v = comparison(json_array_get(points, i), what);
		struct kl_speed p = {
			.ratio_ppm = kl_json_int_or(v, "ratio_ppm", 0),
			.lo_ppm = kl_json_int_or(v, "lo_ppm", 0),
			.hi_ppm = kl_json_int_or(v, "hi_ppm", 0),
			.aa_ppm = s->aa_ppm,
		};

		if (p.ratio_ppm <= 0 || p.hi_ppm <= 0)
			return false;
		if (p.lo_ppm < 1)
			p.lo_ppm = 1;
		sum += (double)weight[i];
		mid += (double)weight[i] * log((double)p.ratio_ppm);
		lo += (double)weight[i] * log((double)p.lo_ppm);
		hi += (double)weight[i] * log((double)p.hi_ppm);
		*one_is_slow |= !strcmp(kl_speed_word(&p), "slow");
	}
	s->ratio_ppm = llround(exp(mid / sum));
	s->lo_ppm = llround(exp(lo / sum));
	s->hi_ppm = llround(exp(hi / sum));
	return true;
}

static json_t *one_comparison(const json_t *points, const int64_t *weight, size_t n,
			      const char *what, int64_t aa_ppm, const char *parent_digest)
{
	struct kl_speed s = { .aa_ppm = aa_ppm };
	bool slow;
	const char *word;
	json_t *v;

	if (!mean_ratio(&s, &slow, points, weight, n, what))
		return NULL;
	word = kl_speed_word(&s);
	if (slow && strcmp(word, "slow"))
		word = "ambiguous";
	v = json_object();
	kl_json_set_str(v, "what", what);
	if (!strcmp(what, "parent") && parent_digest)
		kl_json_set_str(v, "surface", parent_digest);
	kl_json_set_int(v, "ratio_ppm", s.ratio_ppm);
	kl_json_set_int(v, "lo_ppm", s.lo_ppm);
	kl_json_set_int(v, "hi_ppm", s.hi_ppm);
	kl_json_set_str(v, "verdict", word);
	return v;
}

json_t *kl_speed_profile(const json_t *result_profile, const int64_t *weight, size_t n,
			 const char *parent_digest)
{
	const json_t *points = json_object_get(result_profile, "points");
	json_t *profile, *vs, *v;
	int64_t aa = 0, ns = 0, sum = 0;
	size_t i;

	if (!n || json_array_size(points) != n)
		return NULL;
	for (i = 0; i < n; i++) {
		const json_t *p = json_array_get(points, i);
		int64_t reach = aa_reach(p);

		aa = reach > aa ? reach : aa;
		ns += weight[i] * kl_json_int_or(p, "ns", 0);
		sum += weight[i];
	}
	profile = json_object();
	kl_json_set_int(profile, "ns", ns / sum);
	kl_json_set_int(profile, "aa_ppm", aa);
	vs = json_array();
	json_array_foreach(json_object_get(json_array_get(points, 0), "vs"), i, v) {
		json_t *c = one_comparison(points, weight, n, kl_json_str_or(v, "what", ""),
					   aa, parent_digest);

		if (c)
			json_array_append_new(vs, c);
	}
	kl_json_set(profile, "vs", vs);
	if (n > 1)
		kl_json_set(profile, "points", json_deep_copy(points));
	return profile;
}
