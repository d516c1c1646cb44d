/* SPDX-License-Identifier: Apache-2.0 */
/* transplant_json - the document of git klineage transplant --json */
#include "cmd/transplant_print.h"
#include "event/speed.h"

static void set_ratio(json_t *out, const char *key, const struct kl_ratio *ratio)
{
	json_t *value;

	if (ratio->ppm <= 0) {
		kl_json_set(out, key, json_null());
		return;
	}
	value = json_object();
	kl_json_set_int(value, "ratio_ppm", ratio->ppm);
	kl_json_set_int(value, "lo_ppm", ratio->lo);
	kl_json_set_int(value, "hi_ppm", ratio->hi);
	kl_json_set(out, key, value);
}

static json_t *cell_json(const struct kl_transplant *transplant, size_t step, size_t place)
{
	static const char *const state[] = {
		[KL_CELL_UNMERGED] = "unmerged",
		[KL_CELL_NO_CHANGE] = "no-change",
		[KL_CELL_OPEN] = "open",
		[KL_CELL_JUDGED] = "judged",
	};
	const struct kl_transplant_cell *cell = kl_transplant_at(transplant, step, place);
	struct kl_comparison gain;
	json_t *out = json_object();
	char hex[KL_OID_HEX];

	kl_transplant_gain(&gain, transplant, step, place);
	kl_json_set_int(out, "place", (int64_t)place);
	kl_json_set_str(out, "way", place >= step ? "undo" : "put-in");
	kl_json_set_str(out, "state", state[cell->state]);
	kl_json_set_str(out, "why", cell->why);
	kl_json_set_str(out, "verdict", cell->event ? kl_verdict_name(cell->event->verdict) : NULL);
	kl_json_set_str(out, "class",
			cell->event && *kl_event_class(cell->event) ? kl_event_class(cell->event) :
								      NULL);
	kl_json_set_str(out, "event", cell->event ? cell->event->id : NULL);
	kl_oid_hex(hex, &cell->commit);
	kl_json_set_str(out, "commit", cell->event ? hex : NULL);
	set_ratio(out, "gain", &gain.ratio);
	kl_json_set_bool(out, "useless", kl_speed_is_useless(&gain.ratio));
	kl_json_set_str(out, "speed", gain.ratio.ppm > 0 ? kl_speed_name(gain.speed) : NULL);
	return out;
}

static json_t *step_json(const struct kl_transplant *transplant, size_t step, int64_t within_ppm)
{
	json_t *out = kl_view_step_json(&transplant->view.step[step], step);
	json_t *cells = json_array();
	struct kl_comparison gain;
	struct kl_ratio ratio;

	for (size_t place = 0; place < transplant->view.n; place++)
		json_array_append_new(cells, cell_json(transplant, step, place));
	kl_json_set(out, "cells", cells);
	kl_transplant_gain(&gain, transplant, step, step - 1);
	set_ratio(out, "gain_at_place", &gain.ratio);
	kl_transplant_gain(&gain, transplant, step, kl_transplant_steps(transplant));
	set_ratio(out, "gain_at_expert", &gain.ratio);
	kl_json_set_bool(out, "idle", kl_transplant_is_idle(transplant, step, within_ppm));
	if (kl_relations_interaction(&ratio, transplant, step))
		set_ratio(out, "interaction", &ratio);
	return out;
}

static json_t *relation_json(const struct kl_relation *relation)
{
	json_t *out = json_object();

	kl_json_set_str(out, "kind",
			relation->kind == KL_RELATION_REQUIRES ? "requires" : "conflicts");
	kl_json_set_int(out, "step", (int64_t)relation->step);
	kl_json_set_int(out, "other", (int64_t)relation->other);
	kl_json_set_bool(out, "by_merge", relation->by_merge);
	kl_json_set_str(out, "class", relation->class_);
	kl_json_set_str(out, "fails", *relation->fails ? relation->fails : NULL);
	kl_json_set_str(out, "passes", *relation->passes ? relation->passes : NULL);
	return out;
}

json_t *kl_transplant_json(const struct kl_transplant *transplant, int64_t within_ppm)
{
	KL_AUTO(kl_relations_release) struct kl_relations relations = { 0 };
	json_t *out = json_object(), *steps = json_array(), *list = json_array();

	kl_relations_find(&relations, transplant);
	for (size_t step = 1; step <= kl_transplant_steps(transplant); step++)
		json_array_append_new(steps, step_json(transplant, step, within_ppm));
	for (size_t i = 0; i < relations.n; i++)
		json_array_append_new(list, relation_json(&relations.v[i]));
	kl_json_set_str(out, "schema", "klineage.transplant/1");
	kl_json_set_str(out, "workload", transplant->view.workload);
	kl_json_set_str(out, "lineage", transplant->view.name);
	kl_json_set_str(out, "ref", transplant->ref);
	kl_json_set_int(out, "within_ppm", within_ppm);
	kl_json_set(out, "steps", steps);
	kl_json_set(out, "relations", list);
	kl_json_set_int(out, "judged", (int64_t)transplant->judged);
	kl_json_set_int(out, "known", (int64_t)transplant->known);
	kl_json_set_int(out, "waiting", (int64_t)transplant->waiting);
	kl_json_set_bool(out, "late", transplant->late);
	return out;
}
