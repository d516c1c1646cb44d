/* SPDX-License-Identifier: Apache-2.0 */
#include "event/judgement.h"

#include <stdio.h>
#include <string.h>

#include "event/profile.h"

#define MAX_LAUNCHES 16
#define MAX_NAME 200
#define MAX_NOTE 600
#define MAX_NOTES 64
#define MAX_COUNT ((int64_t)1000000000000000)

void kl_judgement_free(struct kl_judgement *v)
{
	if (!v)
		return;
	json_decref(v->event);
	kl_facts_release(&v->facts);
	free(v->message);
	free(v->voucher);
	free(v);
}

json_t *kl_judgement_words(const struct kl_strvec *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(a, json_string(v->v[i]));
	return a;
}

void kl_judgement_set(struct kl_judgement *v, const char *verdict, const char *class_,
		    const char *message)
{
	snprintf(v->verdict, sizeof(v->verdict), "%s", verdict);
	snprintf(v->class_, sizeof(v->class_), "%s", class_ ? class_ : "");
	free(v->message);
	v->message = kl_strdup(message ? message : "");
	kl_json_set_str(v->event, "verdict", v->verdict);
	kl_json_set_str(v->event, "class", v->class_[0] ? v->class_ : NULL);
	if (*v->message)
		kl_json_set_str(v->event, "message", v->message);
}

void kl_judgement_facts(struct kl_judgement *v, const struct kl_facts *f)
{
	kl_strvec_copy(&v->facts.features, &f->features);
	snprintf(v->facts.code_digest, sizeof(v->facts.code_digest), "%s", f->code_digest);
	kl_json_set(v->event, "features", kl_judgement_words(&f->features));
	kl_json_set_str(v->event, "code", f->code_digest);
}

/* The one command that shows this failure again. */
static char *with_replay(const json_t *result, const char *workload, bool check)
{
	const json_t *failure = json_object_get(json_object_get(result, "correct"), "failure");
	const char *seed = kl_json_str_or(failure, "seed", NULL);
	const char *message = kl_json_str_or(result, "message", "");

	if (!seed)
		return kl_strdup(message);
	return kl_asprintf("%s; replay: git klineage gate --worktree --workload %s %s --seed %s",
			   message, workload, check ? "--fast" : "--no-profile", seed);
}

static void take_profile(struct kl_judgement *v, const json_t *result,
			 const struct kl_judgement_of *of)
{
	KL_AUTO(kl_profile_release) struct kl_profile profile;

	kl_profile_of_result(&profile, json_object_get(result, "profile"), of->weight, of->nweight,
			     of->parent);
	if (profile.there) {
		v->ns = profile.ns;
		kl_json_set(v->event, "profile", kl_profile_json(&profile, NULL));
	}
}

/* What every stage has to say, in one list. */
static void take_notes(struct kl_judgement *v, const json_t *result)
{
	static const char *const stage[] = { "correct", "profile", "counters" };
	json_t *notes = json_array();

	for (size_t i = 0; i < KL_ARRAY_SIZE(stage); i++) {
		json_t *said;
		size_t k;

		json_array_foreach(json_object_get(json_object_get(result, stage[i]), "notes"), k, said)
			if (json_is_string(said) && json_string_length(said) <= MAX_NOTE &&
			    json_array_size(notes) < MAX_NOTES)
				json_array_append(notes, said);
	}
	if (json_array_size(notes))
		kl_json_set(v->event, "notes", json_incref(notes));
	json_decref(notes);
}

/* Of hardware counters what is a number and has a name here; a result may come from anywhere. */
static json_t *counters_of(const json_t *launch)
{
	static const char *const known[] = {
		"ns", "dram_ppm", "sm_ppm", "occupancy_ppm", "l1_hit_ppm", "l2_hit_ppm", "dram_read",
		"dram_written",
	};
	const char *kernel = kl_json_str_or(launch, "kernel", "");
	json_t *o = json_object(), *name = json_stringn(kernel, strnlen(kernel, MAX_NAME));

	kl_json_set(o, "kernel", name ? name : json_string(""));
	for (size_t i = 0; i < KL_ARRAY_SIZE(known); i++) {
		int64_t value = kl_json_int_or(launch, known[i], -1);

		if (value >= 0 && value <= MAX_COUNT)
			kl_json_set_int(o, known[i], value);
	}
	return o;
}

static void take_counters(struct kl_judgement *v, const json_t *result)
{
	const json_t *raw = json_object_get(result, "counters"), *launches = json_object_get(raw, "launches");
	json_t *o, *list, *launch;
	size_t i;

	if (!json_array_size(launches))
		return;
	o = json_object();
	list = json_array();
	json_array_foreach(launches, i, launch)
		if (i < MAX_LAUNCHES)
			json_array_append_new(list, counters_of(launch));
	kl_json_set_str(o, "by", "ncu");
	kl_json_set(o, "launches", list);
	kl_json_set(v->event, "counters", o);
}

/* what only the machine that ran it can tell */
static void take_device(struct kl_judgement *v, const json_t *result)
{
	static const char *const key[] = { "device", "driver" };
	json_t *platform = json_object_get(v->event, "platform");

	for (size_t i = 0; i < KL_ARRAY_SIZE(key); i++) {
		const char *said = kl_json_str_or(result, key[i], NULL);

		if (said && platform)
			kl_json_set_str(platform, key[i], said);
	}
}

void kl_judgement_take(struct kl_judgement *v, const json_t *result,
		       const struct kl_judgement_of *of)
{
	bool check = !strcmp(kl_json_str_or(v->event, "kind", ""), "check");
	KL_AUTO(kl_freep) char *message = with_replay(result, of->workload, check);
	json_t *correct = json_object_get(result, "correct");

	take_device(v, result);
	take_profile(v, result, of);
	take_counters(v, result);
	take_notes(v, result);
	if (json_is_object(correct)) {
		kl_json_set(v->event, "correct", json_copy(correct));
		json_object_del(json_object_get(v->event, "correct"), "notes");
	}
	kl_judgement_set(v, kl_json_str_or(result, "status", "inconclusive"),
		       kl_json_str_or(result, "class", NULL), message);
}

void kl_judgement_recall(struct kl_judgement *v, json_t *event)
{
	size_t i;
	json_t *f;
	const char *name;

	json_decref(v->event);
	v->event = event;
	v->cached = true;
	snprintf(v->verdict, sizeof(v->verdict), "%s", kl_json_str_or(event, "verdict", "not-run"));
	snprintf(v->class_, sizeof(v->class_), "%s", kl_json_str_or(event, "class", ""));
	v->message = kl_strdup(kl_json_str_or(event, "message", ""));
	v->ns = kl_json_int_or(json_object_get(event, "profile"), "ns", 0);
	snprintf(v->facts.code_digest, sizeof(v->facts.code_digest), "%s",
		 kl_json_str_or(event, "code", ""));
	json_array_foreach(json_object_get(event, "features"), i, f)
		if (json_is_string(f))
			kl_strvec_push(&v->facts.features, json_string_value(f));
	json_object_foreach(json_object_get(event, "traits"), name, f)
		if (json_is_string(f))
			kl_map_put(&v->facts.traits, name, kl_strdup(json_string_value(f)));
}
