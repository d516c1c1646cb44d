/* SPDX-License-Identifier: Apache-2.0 */
#include "search/table/table.h"

#include <string.h>

#include "search/policy/observation.h"

#define MILLION INT64_C(1000000)

const char *const kl_table_kind_name[KL_TABLE_KINDS] = {
	[KL_TABLE_LINEAGE] = "lineage", [KL_TABLE_TUNE] = "tune",
	[KL_TABLE_REFUSED] = "refused", [KL_TABLE_STALE] = "stale",
	[KL_TABLE_BROKEN] = "broken",
};

void kl_table_state_release(struct kl_table_state *state)
{
	for (size_t i = 0; i < state->nset; i++)
		free(state->set[i].name);
	for (size_t i = 0; i < state->nedit; i++) {
		free(state->edit[i].path);
		free(state->edit[i].text);
	}
	free(state->set);
	free(state->edit);
	free(state->id);
	free(state->by);
	free(state->class_);
	free(state->case_ppm);
	kl_strvec_release(&state->features);
	*state = (struct kl_table_state){ 0 };
}

void kl_search_table_free(struct kl_search_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->n; i++)
		kl_table_state_release(&table->state[i]);
	free(table->state);
	free(table->workload);
	free(table->platform);
	free(table->device);
	free(table->compiler);
	kl_strvec_release(&table->lineage);
	kl_map_release(&table->by_surface);
	free(table);
}

const struct kl_table_state *kl_search_table_find(const struct kl_search_table *table,
						  const char *surface)
{
	const void *at = kl_map_get(&table->by_surface, surface);

	return at ? &table->state[(uintptr_t)at - 1] : NULL;
}

/* --- writing --------------------------------------------------------------------------------- */

static json_t *strings_json(const struct kl_strvec *list)
{
	json_t *json = json_array();

	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(json, json_string(list->v[i]));
	return json;
}

static json_t *head_json(const struct kl_search_table *table)
{
	json_t *json = json_object();

	kl_json_set_str(json, "schema", KL_SEARCH_TABLE_SCHEMA);
	kl_json_set_str(json, "workload", table->workload);
	kl_json_set_str(json, "contract", table->contract);
	kl_json_set_str(json, "platform", table->platform);
	kl_json_set_str(json, "device", table->device);
	kl_json_set_str(json, "compiler", table->compiler);
	kl_json_set_int(json, "policy", table->policy);
	kl_json_set(json, "lineages", strings_json(&table->lineage));
	kl_json_set_int(json, "states", (int64_t)table->n);
	return json;
}

static json_t *set_json(const struct kl_table_state *state)
{
	json_t *json = json_object();

	for (size_t i = 0; i < state->nset; i++)
		kl_json_set_int(json, state->set[i].name, state->set[i].value);
	return json;
}

static json_t *edits_json(const struct kl_table_state *state)
{
	json_t *list = json_array();

	for (size_t i = 0; i < state->nedit; i++) {
		json_t *edit = json_object();

		kl_json_set_str(edit, "path", state->edit[i].path);
		kl_json_set_int(edit, "line", state->edit[i].line);
		kl_json_set_int(edit, "drop", state->edit[i].drop);
		kl_json_set_str(edit, "text", state->edit[i].text);
		json_array_append_new(list, edit);
	}
	return list;
}

static void set_times(json_t *json, const struct kl_table_state *state)
{
	json_t *root = json_object(), *cases = json_array();

	kl_json_set_int(root, "ppm", state->root.ppm);
	kl_json_set_int(root, "lo", state->root.lo);
	kl_json_set_int(root, "hi", state->root.hi);
	kl_json_set(json, "root", root);
	for (size_t i = 0; i < state->ncase; i++)
		json_array_append_new(cases, json_integer(state->case_ppm[i]));
	kl_json_set(json, "cases", cases);
	kl_json_set_int(json, "ns", state->ns);
}

static json_t *state_json(const struct kl_search_table *table, const struct kl_table_state *state)
{
	json_t *json = json_object();

	kl_json_set_str(json, "id", state->id);
	kl_json_set_str(json, "kind", kl_table_kind_name[state->kind]);
	kl_json_set_int(json, "lineage", state->lineage);
	kl_json_set_int(json, "at", state->at);
	kl_json_set(json, "set", set_json(state));
	kl_json_set_str(json, "from", table->state[state->from].id);
	kl_json_set_str(json, "by", state->by);
	kl_json_set(json, "edits", edits_json(state));
	kl_json_set_str(json, "surface", state->surface);
	kl_json_set_str(json, "event", state->event);
	kl_json_set_str(json, "verdict", kl_verdict_name(state->verdict));
	kl_json_set_str(json, "class", state->class_);
	kl_json_set(json, "features", strings_json(&state->features));
	if (state->root.ppm)
		set_times(json, state);
	return json;
}

static void add_line(struct kl_buf *out, json_t *json)
{
	kl_json_canonical(out, json);
	kl_buf_addch(out, '\n');
	json_decref(json);
}

void kl_search_table_write(struct kl_buf *out, const struct kl_search_table *table)
{
	add_line(out, head_json(table));
	for (size_t i = 0; i < table->n; i++)
		add_line(out, state_json(table, &table->state[i]));
}

/* --- verdicts -------------------------------------------------------------------------------- */

/*
 * Return `speed` divided by `root`, which is 0 if one of them is unknown. The speeds of a forged
 * table can be so far apart that no observation could store their quotient.
 */
static int64_t quotient(int64_t speed, int64_t root)
{
	__int128 ppm = root > 0 ? (__int128)speed * MILLION / root : 0;

	return ppm < KL_OBSERVATION_PPM ? (int64_t)ppm : KL_OBSERVATION_PPM;
}

/*
 * Both speeds are compared with the root of the table. If the search begins at this root, the
 * quotient is the measured interval; else it is wider than a measured one would be.
 */
static void compare_with(struct kl_comparisons *vs, const struct kl_ratio *speed,
			 const struct kl_ratio *root)
{
	vs->v = kl_calloc(1, sizeof(*vs->v));
	vs->v[vs->n++] = (struct kl_comparison){
		.what = "parent",
		.surface = "",
		.ratio = { quotient(speed->ppm, root->ppm), quotient(speed->lo, root->hi),
			   quotient(speed->hi, root->lo) },
	};
}

static void add_cases(struct kl_profile *profile, const struct kl_table_state *state,
		      const struct kl_table_state *root)
{
	profile->point = kl_calloc(state->ncase, sizeof(*profile->point));
	profile->npoint = state->ncase;
	for (size_t i = 0; i < state->ncase; i++) {
		struct kl_ratio speed = { state->case_ppm[i], state->case_ppm[i],
					  state->case_ppm[i] };
		struct kl_ratio of = { root->case_ppm[i], root->case_ppm[i], root->case_ppm[i] };

		profile->point[i].id = "";
		compare_with(&profile->point[i].vs, &speed, &of);
	}
}

struct kl_event *kl_search_table_event(const struct kl_table_state *state,
				       const struct kl_table_state *root)
{
	struct kl_event *event = kl_event_new();

	event->kind = KL_KIND_GATE;
	event->verdict = state->verdict;
	event->id = kl_event_keep(event, state->event);
	event->surface = kl_event_keep(event, state->surface);
	event->compiled = state->features.n > 0;
	kl_strvec_copy(&event->facts.features, &state->features);
	kl_event_set_class(event, state->class_);
	if (!state->root.ppm || !root->root.ppm)
		return event;
	event->profile.there = true;
	event->profile.ns = state->ns;
	compare_with(&event->profile.vs, &state->root, &root->root);
	if (state->ncase && state->ncase == root->ncase)
		add_cases(&event->profile, state, root);
	return event;
}
