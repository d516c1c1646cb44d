/* SPDX-License-Identifier: Apache-2.0 */
#include "event/record.h"

#include <string.h>
#include <time.h>

#include "base/error.h"
#include "event/event.h"
#include "event/speed.h"

#define MILLION 1000000

const char *kl_record_id(const json_t *event)
{
	return kl_json_str_or(event, "id", "");
}

static const json_t *against(const json_t *event, bool parent)
{
	const json_t *vs = json_object_get(json_object_get(event, "profile"), "vs");
	size_t i;
	json_t *v;

	json_array_foreach(vs, i, v)
		if (!strcmp(kl_json_str_or(v, "what", ""), "parent") == parent)
			return v;
	return NULL;
}

int64_t kl_record_ratio(const json_t *event, int64_t *lo, int64_t *hi)
{
	const json_t *v = against(event, true);

	if (!v)
		return 0;
	if (lo)
		*lo = kl_json_int_or(v, "lo_ppm", 0);
	if (hi)
		*hi = kl_json_int_or(v, "hi_ppm", 0);
	return kl_json_int_or(v, "ratio_ppm", 0);
}

void kl_record_against(bool *not_slower, bool *slower, const json_t *event, const char *goal)
{
	KL_AUTO(kl_profile_release) struct kl_profile profile;
	const struct kl_comparison *parent;
	bool asked;

	kl_profile_read(&profile, json_object_get(event, "profile"));
	parent = kl_comparisons_parent(&profile.vs);
	asked = parent && !strcmp(parent->surface, goal);
	*not_slower = asked && kl_speed_is_not_slower(&profile);
	*slower = asked && kl_speed_is_slower(&profile);
}

int64_t kl_record_baseline(const json_t *event, const char **what)
{
	const json_t *v = against(event, false);

	*what = kl_json_str_or(v, "what", "");
	return kl_json_int_or(v, "ratio_ppm", 0);
}

int64_t kl_record_ns(const json_t *event)
{
	return kl_json_int_or(json_object_get(event, "profile"), "ns", 0);
}

static int64_t inverted(int64_t ppm)
{
	return ppm > 0 ? (MILLION * (int64_t)MILLION + ppm / 2) / ppm : 0;
}

static const char *opposite(const char *speed)
{
	return !strcmp(speed, "fast") ? "slow" : !strcmp(speed, "slow") ? "fast" : speed;
}

static json_t *inverted_comparison(const json_t *pair)
{
	const json_t *v = against(pair, true);
	json_t *out;

	if (!v)
		return NULL;
	out = json_object();
	kl_json_set_str(out, "what", "parent");
	kl_json_set_str(out, "surface", kl_json_str_or(pair, "surface", ""));
	kl_json_set_int(out, "ratio_ppm", inverted(kl_json_int_or(v, "ratio_ppm", 0)));
	kl_json_set_int(out, "lo_ppm", inverted(kl_json_int_or(v, "hi_ppm", 0)));
	kl_json_set_int(out, "hi_ppm", inverted(kl_json_int_or(v, "lo_ppm", 0)));
	kl_json_set_str(out, "verdict", opposite(kl_json_str_or(v, "verdict", "ambiguous")));
	return out;
}

json_t *kl_record_inverse(const json_t *state, const json_t *pair, int64_t time)
{
	json_t *e = json_deep_copy(state), *from = json_object(), *vs = json_array();
	json_t *profile = json_object_get(e, "profile"), *forward = inverted_comparison(pair), *v;
	time_t t = (time_t)time;
	struct tm tm;
	char iso[32];
	size_t i;

	json_object_del(e, "sig");
	json_object_del(e, "commit");
	json_object_del(e, "tree");
	kl_json_set_str(from, "state", kl_record_id(state));
	kl_json_set_str(from, "pair", kl_record_id(pair));
	kl_json_set(e, "inverse", from);
	gmtime_r(&t, &tm);
	strftime(iso, sizeof(iso), "%Y-%m-%dT%H:%M:%SZ", &tm);
	kl_json_set_str(e, "time", iso);
	if (forward)
		json_array_append_new(vs, forward);
	json_array_foreach(json_object_get(profile, "vs"), i, v)
		if (strcmp(kl_json_str_or(v, "what", ""), "parent"))
			json_array_append(vs, v);
	if (json_is_object(profile))
		kl_json_set(profile, "vs", vs);
	else
		json_decref(vs);
	kl_event_doc_seal(e);
	return e;
}

static void drop(void *j)
{
	json_decref(j);
}

int kl_record_load(struct kl_map *out, const char *name, const char *text, size_t len)
{
	int line = 0;

	out->free_value = drop;
	for (const char *s = text, *end = text + len; s < end; ) {
		const char *nl = memchr(s, '\n', end - s);
		size_t n = (nl ? nl : end) - s;
		json_t *j;
		int err;

		line++;
		if (n) {
			if ((err = kl_event_doc_parse(&j, s, n)) < 0)
				return kl_error_in(err, "%s:%d", name, line);
			kl_map_put(out, kl_record_id(j), j);
		}
		s += n + 1;
	}
	return 0;
}
