/* SPDX-License-Identifier: Apache-2.0 */
#include "search/policy/knowledge.h"

#include <string.h>

#include "search/policy/experience.h"
#include "text/name.h"

#define FIRST_CONFIDENCE 0.5
#define LEAST_CONFIDENCE 0.1
#define INHERITED 0.8
#define CONFIDENCE_STEP 0.1

const char *kl_knowledge_name(const json_t *said, const char *key)
{
	const char *name = kl_json_str_or(said, key, NULL);

	return name && kl_name_is_slug(name) ? name : NULL;
}

struct kl_knowledge_entry *kl_knowledge_find(const struct kl_knowledge *base, const char *state,
					     const char *technique)
{
	for (size_t i = 0; i < base->n; i++)
		if (!strcmp(base->v[i].state, state) && !strcmp(base->v[i].technique, technique))
			return &base->v[i];
	return NULL;
}

struct kl_knowledge_entry *kl_knowledge_have(struct kl_knowledge *base, const char *state,
					     const char *technique, double predicted)
{
	struct kl_knowledge_entry *found = kl_knowledge_find(base, state, technique);

	if (found)
		return found;
	KL_GROW(base->v, base->n + 1, base->alloc);
	base->v[base->n] = (struct kl_knowledge_entry){
		.state = kl_strdup(state),
		.technique = kl_strdup(technique),
		.predicted = predicted,
		.confidence = FIRST_CONFIDENCE,
	};
	return &base->v[base->n++];
}

void kl_knowledge_inherit(struct kl_knowledge *base, const char *state, const char *from)
{
	size_t n = base->n;

	for (size_t i = 0; i < n; i++) {
		double confidence = base->v[i].confidence * INHERITED;
		struct kl_knowledge_entry *entry;

		if (strcmp(base->v[i].state, from))
			continue;
		entry = kl_knowledge_have(base, state, base->v[i].technique,
					  base->v[i].predicted * INHERITED);
		entry->confidence = confidence;
	}
}

const struct kl_knowledge_entry *kl_knowledge_best(const struct kl_knowledge *base,
						   const char *state)
{
	const struct kl_knowledge_entry *best = NULL;

	for (size_t i = 0; i < base->n; i++) {
		const struct kl_knowledge_entry *entry = &base->v[i];

		if (!strcmp(entry->state, state) &&
		    (!best ||
		     entry->predicted * entry->confidence > best->predicted * best->confidence))
			best = entry;
	}
	return best;
}

bool kl_knowledge_foretold(double saved, double predicted)
{
	return predicted != 0 && saved / predicted >= 0.8 && saved / predicted <= 1.2;
}

static double bounded_confidence(double confidence)
{
	return confidence < LEAST_CONFIDENCE ? LEAST_CONFIDENCE : confidence > 1 ? 1 : confidence;
}

void kl_knowledge_learn(struct kl_knowledge_entry *entry, double saved)
{
	double step = kl_knowledge_foretold(saved, entry->predicted) ? CONFIDENCE_STEP :
								       -CONFIDENCE_STEP;

	/* The first use replaces the prediction of the model and does not change the confidence. */
	if (entry->uses++)
		entry->confidence = bounded_confidence(entry->confidence + step);
	entry->predicted = (entry->predicted * (double)(entry->uses - 1) + saved) /
			   (double)entry->uses;
}

static struct kl_knowledge_entry *named_entry(struct kl_knowledge *base, const json_t *row)
{
	const char *state = kl_knowledge_name(row, "state");
	const char *technique = kl_knowledge_name(row, "technique");

	return state && technique ? kl_knowledge_have(base, state, technique, 0) : NULL;
}

void kl_knowledge_update(struct kl_knowledge *base, const json_t *said)
{
	const json_t *adjust = json_object_get(said, "adjust");
	const json_t *deprecate = json_object_get(said, "deprecate");

	for (size_t i = 0; i < json_array_size(adjust); i++) {
		const json_t *row = json_array_get(adjust, i);
		struct kl_knowledge_entry *entry = named_entry(base, row);
		int64_t saved = kl_json_int_or(row, "saved_ppm", KL_MILLION + 1);
		int64_t confidence = kl_json_int_or(row, "confidence_ppm", -1);

		if (entry && saved >= -KL_MILLION && saved <= KL_MILLION)
			entry->predicted = 100.0 * (double)saved / KL_MILLION;
		if (entry && confidence >= 0)
			entry->confidence = bounded_confidence((double)confidence / KL_MILLION);
	}
	for (size_t i = 0; i < json_array_size(deprecate); i++) {
		struct kl_knowledge_entry *entry = named_entry(base, json_array_get(deprecate, i));

		if (entry)
			entry->confidence = LEAST_CONFIDENCE;
	}
}

json_t *kl_knowledge_write(const struct kl_knowledge *base)
{
	json_t *entries = json_array();

	for (size_t i = 0; i < base->n; i++) {
		json_t *row = json_array();

		json_array_append_new(row, json_string(base->v[i].state));
		json_array_append_new(row, json_string(base->v[i].technique));
		json_array_append_new(row, json_integer(base->v[i].uses));
		json_array_append_new(row, kl_experience_number(base->v[i].predicted));
		json_array_append_new(row, kl_experience_number(base->v[i].confidence));
		json_array_append_new(entries, row);
	}
	return entries;
}

/* Return a number in thousandths, rounded to the nearest; halves are rounded away from zero. */
static int64_t thousandths(double number)
{
	return (int64_t)(number * 1000 + (number < 0 ? -0.5 : 0.5));
}

json_t *kl_knowledge_tell(const struct kl_knowledge *base)
{
	json_t *entries = json_array();

	for (size_t i = 0; i < base->n; i++) {
		json_t *row = json_object();

		kl_json_set_str(row, "state", base->v[i].state);
		kl_json_set_str(row, "technique", base->v[i].technique);
		kl_json_set_int(row, "uses", base->v[i].uses);
		kl_json_set_int(row, "saved_ppm", thousandths(base->v[i].predicted) * 10);
		kl_json_set_int(row, "confidence_ppm", thousandths(base->v[i].confidence) * 1000);
		json_array_append_new(entries, row);
	}
	return entries;
}

void kl_knowledge_release(struct kl_knowledge *base)
{
	for (size_t i = 0; i < base->n; i++) {
		free(base->v[i].state);
		free(base->v[i].technique);
	}
	free(base->v);
	*base = (struct kl_knowledge){ 0 };
}
