/* SPDX-License-Identifier: Apache-2.0 */
#include "event/judgement.h"

#include <stdio.h>
#include <string.h>

#include "job/argument.h"
#include "text/name.h"

#define MAX_LAUNCHES 16
#define MAX_NAME 200
#define MAX_NOTE 600
#define MAX_NOTES 64
#define MAX_COUNT ((int64_t)1000000000000000)
#define MAX_SEED 20 /* maximum number of digits of a seed, which is below 2^64 */
#define REPLAY "; replay: git klineage gate "

struct kl_judgement *kl_judgement_new(struct kl_event *event)
{
	struct kl_judgement *judged = kl_calloc(1, sizeof(*judged));

	judged->event = event;
	return judged;
}

void kl_judgement_free(struct kl_judgement *judged)
{
	if (!judged)
		return;
	kl_event_free(judged->event);
	free(judged->voucher);
	free(judged);
}

void kl_judgement_set(struct kl_judgement *judged, enum kl_verdict verdict, const char *class_,
		      const char *message)
{
	struct kl_event *event = judged->event;

	event->verdict = verdict;
	kl_event_set_class(event, class_);
	event->message = kl_event_keep(event, message);
}

void kl_judgement_facts(struct kl_judgement *judged, const struct kl_facts *facts)
{
	struct kl_facts *own = &judged->event->facts;

	judged->event->compiled = true;
	kl_strvec_copy(&own->features, &facts->features);
	own->features_version = facts->features_version;
	snprintf(own->code_digest, sizeof(own->code_digest), "%s", facts->code_digest);
}

/*
 * Return true if the seed is a number. Nothing else is allowed, because a result is untrusted and
 * users copy the command that contains the seed.
 */
static bool is_seed(const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n > 0 && n <= MAX_SEED && !text[n];
}

/*
 * Append the dims of a drawn point in the form that the option --dims takes. The result is
 * untrusted: return false if it has no dims, or if their names or values are not valid.
 */
static bool add_dims(struct kl_buf *out, const json_t *dims)
{
	size_t from = out->len;
	const char *name;
	json_t *value;

	if (!json_object_size(dims) || json_object_size(dims) > KL_MAX_DIMS)
		return false;
	json_object_foreach((json_t *)(uintptr_t)dims, name, value) {
		if (!kl_name_is_ident(name) || !json_is_integer(value) ||
		    json_integer_value(value) < 0)
			return false;
		kl_buf_addf(out, "%s%s=%lld", out->len > from ? "," : "", name,
			    (long long)json_integer_value(value));
	}
	return true;
}

/* Return the result's message, plus the command that replays a failure if the result has a seed. */
static char *with_replay(const json_t *result, const char *workload, bool check)
{
	const json_t *failure = json_object_get(json_object_get(result, "correct"), "failure");
	const char *seed = kl_json_str_or(failure, "seed", NULL);
	const char *message = kl_json_str_or(result, "message", "");
	KL_AUTO(kl_buf_release) struct kl_buf dims = KL_BUF_INIT;

	if (!seed || !is_seed(seed))
		return kl_strdup(message);
	if (json_object_get(failure, "after")) {
		if (!add_dims(&dims, json_object_get(failure, "after")))
			return kl_strdup(message);
		kl_buf_addch(&dims, '/');
	}
	if (!add_dims(&dims, json_object_get(failure, "dims")))
		return kl_asprintf("%s" REPLAY "--worktree --workload %s %s --seed %s", message,
				   workload, check ? "--quick" : "--no-profile", seed);
	return kl_asprintf("%s" REPLAY "--worktree --workload %s --dims %s --seed %s", message,
			   workload, dims.ptr, seed);
}

size_t kl_judgement_reason(const char *message)
{
	const char *end = strstr(message, REPLAY);

	return end ? (size_t)(end - message) : strlen(message);
}

static void set_member(json_t **member, json_t *value)
{
	json_decref(*member);
	*member = value;
}

void kl_judgement_notes(struct kl_judgement *judged, const struct kl_strvec *notes)
{
	for (size_t i = 0; i < notes->n && i < MAX_NOTES; i++) {
		if (!judged->event->notes)
			judged->event->notes = json_array();
		json_array_append_new(judged->event->notes, json_string(notes->v[i]));
	}
}

/* Add the notes of all stages to those of the artefact. */
static void take_notes(struct kl_event *event, const json_t *result)
{
	static const char *const stage[] = { "correct", "profile", "counters" };
	json_t *notes = event->notes ? json_copy(event->notes) : json_array();

	for (size_t i = 0; i < KL_ARRAY_SIZE(stage); i++) {
		json_t *note;
		size_t k;

		json_array_foreach(json_object_get(json_object_get(result, stage[i]), "notes"), k,
				   note)
			if (json_is_string(note) && json_string_length(note) <= MAX_NOTE &&
			    json_array_size(notes) < MAX_NOTES)
				json_array_append(notes, note);
	}
	if (json_array_size(notes))
		set_member(&event->notes, notes);
	else
		json_decref(notes);
}

/*
 * Copy only known hardware counters with valid numbers, since a result can come from an untrusted
 * source.
 */
static json_t *counters_of(const json_t *launch)
{
	static const char *const known[] = {
		"ns",         "dram_ppm",   "sm_ppm",    "occupancy_ppm",
		"l1_hit_ppm", "l2_hit_ppm", "dram_read", "dram_written",
	};
	const char *kernel = kl_json_str_or(launch, "kernel", "");
	json_t *counters = json_object(), *name = json_stringn(kernel, strnlen(kernel, MAX_NAME));

	kl_json_set(counters, "kernel", name ? name : json_string(""));
	for (size_t i = 0; i < KL_ARRAY_SIZE(known); i++) {
		int64_t value = kl_json_int_or(launch, known[i], -1);

		if (value >= 0 && value <= MAX_COUNT)
			kl_json_set_int(counters, known[i], value);
	}
	return counters;
}

static void take_counters(struct kl_event *event, const json_t *result)
{
	const json_t *raw = json_object_get(result, "counters");
	const json_t *launches = json_object_get(raw, "launches");
	json_t *counters, *list, *launch;
	size_t i;

	if (!json_array_size(launches))
		return;
	counters = json_object();
	list = json_array();
	json_array_foreach(launches, i, launch)
		if (i < MAX_LAUNCHES)
			json_array_append_new(list, counters_of(launch));
	kl_json_set_str(counters, "by", "ncu");
	kl_json_set(counters, "launches", list);
	set_member(&event->counters, counters);
}

/* Copy the device and driver, which only the machine that ran the kernel knows. */
static void take_device(struct kl_event *event, const json_t *result)
{
	const char *device = kl_json_str_or(result, "device", NULL);
	const char *driver = kl_json_str_or(result, "driver", NULL);

	if (device)
		event->place.device = kl_event_keep(event, device);
	if (driver)
		event->place.driver = kl_event_keep(event, driver);
}

static void take_profile(struct kl_event *event, const json_t *result,
			 const struct kl_judgement_of *of)
{
	struct kl_profile profile;

	kl_profile_of_result(&profile, json_object_get(result, "profile"), of->weight, of->nweight,
			     of->parent ? kl_event_keep(event, of->parent) : NULL);
	if (!profile.there)
		return;
	kl_profile_release(&event->profile);
	event->profile = profile;
}

static void take_correct(struct kl_event *event, const json_t *result)
{
	json_t *correct = json_object_get(result, "correct");

	if (!json_is_object(correct))
		return;
	correct = json_copy(correct);
	json_object_del(correct, "notes");
	set_member(&event->correct, correct);
}

void kl_judgement_take(struct kl_judgement *judged, const json_t *result,
		       const struct kl_judgement_of *of)
{
	struct kl_event *event = judged->event;
	KL_AUTO(kl_freep) char *message = with_replay(result, of->workload,
						      event->kind == KL_KIND_CHECK);

	take_device(event, result);
	take_profile(event, result, of);
	take_counters(event, result);
	take_notes(event, result);
	take_correct(event, result);
	kl_judgement_set(judged, kl_verdict_parse(kl_json_str_or(result, "status", "inconclusive")),
			 kl_json_str_or(result, "class", NULL), message);
}
