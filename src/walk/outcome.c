/* SPDX-License-Identifier: Apache-2.0 */
/* outcome - fills in the report that a run of the sequencer gives to its caller */
#include <stdio.h>
#include <string.h>

#include "walk/rejection.h"
#include "walk/sequencer_parts.h"

void kl_outcome_release(struct kl_outcome *outcome)
{
	free(outcome->edit_dir);
	outcome->edit_dir = NULL;
	json_decref(outcome->awaiting);
	json_decref(outcome->judged);
	outcome->awaiting = outcome->judged = NULL;
}

char *kl_outcome_passed_over(const struct kl_outcome *outcome)
{
	const struct {
		size_t n;
		const char *why;
	} row[] = {
		{ outcome->passed_over.equal, "equal to another state or taken back" },
		{ outcome->passed_over.unreadable,
		  "without sources, or with a source above 4 MiB" },
		{ outcome->passed_over.same_code, "with the machine code of another state" },
		{ outcome->passed_over.no_effect, "no faster or slower than another state" },
		{ outcome->passed_over.uncompiled,
		  "that the contract of the expert cannot compile" },
	};
	struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++)
		if (row[i].n)
			kl_buf_addf(&buf, "%s%zu %s", buf.len ? ", " : "older states: ", row[i].n,
				    row[i].why);
	return kl_buf_detach(&buf);
}

static size_t count_derived(const struct kl_walk *walk, const char *how)
{
	size_t i, n = 0;
	json_t *step;

	json_array_foreach(kl_walk_steps(walk), i, step)
		n += !strcmp(kl_walk_derivation(json_object_get(step, "rederived")), how);
	return n;
}

/* Count the rejections, and the older states that were passed over. */
static void count_rejections(struct kl_outcome *out, const struct kl_walk *walk)
{
	size_t i;
	json_t *rec;

	out->rejections = 0;
	memset(&out->passed_over, 0, sizeof(out->passed_over));
	out->passed_over.equal = (size_t)kl_json_int_or(walk->state, "skipped", 0);
	out->passed_over.unreadable = (size_t)kl_json_int_or(walk->state, "unreadable", 0);
	json_array_foreach(kl_walk_rejections(walk), i, rec) {
		const char *class_ = kl_json_str_or(rec, "class", "");

		if (!kl_rejection_is_passed_over(kl_json_str_or(rec, "rewriter", ""), class_))
			out->rejections++;
		else if (!strcmp(class_, "no-change"))
			out->passed_over.same_code++;
		else if (!strcmp(class_, "no-effect"))
			out->passed_over.no_effect++;
		else
			out->passed_over.uncompiled++;
	}
}

/* Append the records from index `from` on, each with its event. */
static void add_judged(json_t *list, struct kl_sequencer *sequencer, const json_t *records,
		       size_t from)
{
	static const char *const keys[] = {
		"action", "mechanism", "locus", "rewriter", "commit",
		"class",  "delta",     "ns",    "claimed",  "confidence",
	};

	for (size_t i = from; i < json_array_size(records); i++) {
		const json_t *rec = json_array_get(records, i);
		const char *id = kl_json_str_or(rec, "event", "");
		const struct kl_event *event = kl_opstate_known(&sequencer->op, id);
		json_t *entry = json_object();

		kl_json_set_bool(entry, "accepted", !json_object_get(rec, "class"));
		for (size_t k = 0; k < KL_ARRAY_SIZE(keys); k++)
			if (json_object_get(rec, keys[k]))
				kl_json_set(entry, keys[k],
					    json_deep_copy(json_object_get(rec, keys[k])));
		kl_json_set(entry, "event", event ? kl_event_json(event) : json_null());
		json_array_append_new(list, entry);
	}
}

void kl_outcome_fill(struct kl_outcome *out, struct kl_sequencer *sequencer)
{
	const struct kl_walk *walk = &sequencer->op.walk;

	json_decref(out->judged);
	out->judged = json_array();
	add_judged(out->judged, sequencer, kl_walk_steps(walk), sequencer->had_steps);
	add_judged(out->judged, sequencer, kl_walk_rejections(walk), sequencer->had_rejections);

	snprintf(out->workload, sizeof(out->workload), "%s", kl_walk_str(walk, "workload"));
	snprintf(out->name, sizeof(out->name), "%s", kl_walk_str(walk, "name"));
	snprintf(out->termination, sizeof(out->termination), "%s",
		 kl_walk_str(walk, "termination"));
	out->steps = json_array_size(kl_walk_steps(walk));
	count_rejections(out, walk);
	out->rederived = count_derived(walk, "rederived");
	out->unisolated = count_derived(walk, "unisolated");
}
