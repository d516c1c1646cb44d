/* SPDX-License-Identifier: Apache-2.0 */
#include "event/record.h"

#include <string.h>

#include "base/error.h"
#include "event/note_writer.h"
#include "event/signature.h"
#include "event/speed.h"

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
		json_t *j = NULL;
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

int kl_event_doc_parse(json_t **out, const char *line, size_t len)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	int err = kl_event_parse(&event, line, len);

	if (!err)
		*out = kl_event_json(event);
	return err;
}

void kl_event_doc_seal(json_t *doc)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = kl_event_from_json(doc);

	kl_event_seal(event);
	kl_json_set_str(doc, "id", event->id);
}

bool kl_event_doc_is_fail(const json_t *doc)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = kl_event_from_json((json_t *)doc);

	return kl_event_is_fail(event);
}

bool kl_event_doc_is_for(const json_t *doc, const char *surface, const char *contract)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = kl_event_from_json((json_t *)doc);

	return kl_event_is_for(event, surface, contract);
}

static void take_back(json_t *doc, const struct kl_event *event)
{
	KL_AUTO(json_decrefp) json_t *now = kl_event_json(event);

	json_object_update(doc, now);
}

int kl_noting_add_doc(struct kl_noting *n, const git_oid *commit, json_t *doc)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = kl_event_from_json(doc);
	int err = kl_noting_add(n, commit, event);

	take_back(doc, event);
	return err;
}

int kl_sign_event_doc(struct kl_repo *r, json_t *doc)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = kl_event_from_json(doc);
	int err = kl_sign_event(r, event);

	take_back(doc, event);
	return err;
}
