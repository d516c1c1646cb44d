/* SPDX-License-Identifier: Apache-2.0 */
/* walk_derive - the functions of walk.h that re-derive steps */
#include <string.h>

#include "walk/walk.h"

const char *kl_walk_rederiver(const struct kl_walk *walk)
{
	return *kl_walk_str(walk, "rederive_off") ? "" : kl_walk_str(walk, "rederive");
}

json_t *kl_walk_step(const struct kl_walk *walk)
{
	json_t *steps = kl_walk_steps(walk);
	size_t n = json_array_size(steps);

	return n ? json_array_get(steps, n - 1) : NULL;
}

json_t *kl_walk_attempts(const struct kl_walk *walk)
{
	json_t *step = kl_walk_step(walk), *list = json_object_get(step, "attempts");

	if (!list && step) {
		list = json_array();
		kl_json_set(step, "attempts", list);
	}
	return list;
}

/*
 * Return member `key` of the step before the last. If the walk has no such step, return its member
 * `of_expert`.
 */
static const char *goal_member(const struct kl_walk *walk, const char *key, const char *of_expert)
{
	json_t *steps = kl_walk_steps(walk);
	size_t n = json_array_size(steps);

	return n > 1 ? kl_json_str_or(json_array_get(steps, n - 2), key, "") :
		       kl_walk_str(walk, of_expert);
}

const char *kl_walk_goal(const struct kl_walk *walk)
{
	return goal_member(walk, "commit", "expert");
}

const char *kl_walk_goal_event(const struct kl_walk *walk)
{
	return goal_member(walk, "event", "expert_event");
}

const char *kl_walk_derived_tip(const struct kl_walk *walk)
{
	return kl_walk_str(walk, "derived_last");
}

static void go_to(struct kl_walk *walk, const char *phase)
{
	kl_json_set_str(walk->state, "phase", phase);
}

void kl_walk_derived(struct kl_walk *walk, json_t *proposal)
{
	kl_json_set(walk->state, "pending", proposal);
	go_to(walk, "judge-derived");
}

json_t *kl_walk_measurements(const struct kl_walk *walk)
{
	return json_object_get(kl_walk_pending(walk), "measured");
}

void kl_walk_measured(struct kl_walk *walk, json_t *event)
{
	if (!kl_walk_measurements(walk))
		kl_json_set(kl_walk_pending(walk), "measured", json_array());
	json_array_append_new(kl_walk_measurements(walk), event);
}

/* Describe the pending attempt: its rewriter, source and text, and its verdict if it has one. */
static json_t *seen_outcome(const struct kl_walk *walk, const struct kl_walk_seen *seen)
{
	static const char *const keys[] = { "rewriter", "source", "text" };
	const json_t *pending = kl_walk_pending(walk);
	json_t *outcome = json_object(), *events = json_array(), *entry;
	size_t i;

	for (i = 0; pending && i < KL_ARRAY_SIZE(keys); i++)
		kl_json_set_str(outcome, keys[i], kl_json_str_or(pending, keys[i], ""));
	if (kl_json_bool_or(pending, "unisolated", false))
		kl_json_set_bool(outcome, "unisolated", true);
	kl_json_set_str(outcome, "event", seen && seen->event ? seen->event : "");
	if (!seen || !seen->commit) {
		json_decref(events);
		return outcome;
	}
	json_array_foreach(kl_walk_measurements(walk), i, entry)
		json_array_append_new(events, json_string(kl_json_str_or(entry, "id", "")));
	kl_json_set_str(outcome, "commit", seen->commit);
	kl_json_set_str(outcome, "surface", seen->surface);
	kl_json_set_int(outcome, "ns", seen->ns);
	kl_json_set(outcome, "measured", events);
	return outcome;
}

static void settle_derivation(struct kl_walk *walk, const char *derivation)
{
	kl_json_set_str(kl_walk_step(walk), "derivation", derivation);
	go_to(walk, "ask");
}

const char *kl_walk_derivation(const json_t *outcome)
{
	if (!json_is_object(outcome))
		return "inverse";
	return kl_json_bool_or(outcome, "unisolated", false) ? "unisolated" : "rederived";
}

void kl_walk_rederived(struct kl_walk *walk, const struct kl_walk_seen *seen)
{
	json_t *outcome = seen_outcome(walk, seen);

	kl_json_set(kl_walk_step(walk), "rederived", outcome);
	kl_json_set_str(walk->state, "derived_last", seen->commit);
	json_object_del(walk->state, "pending");
	settle_derivation(walk, kl_walk_derivation(outcome));
}

static void add_attempt(struct kl_walk *walk, const char *class_, const struct kl_walk_seen *seen,
			const char *why)
{
	json_t *attempt = seen_outcome(walk, seen);

	kl_json_set_str(attempt, "class", class_);
	kl_json_set_str(attempt, "why", why ? why : "");
	json_array_append_new(kl_walk_attempts(walk), attempt);
	if (seen && seen->commit)
		kl_json_set_str(walk->state, "rejected_last", seen->commit);
	json_object_del(walk->state, "pending");
}

void kl_walk_attempted(struct kl_walk *walk, const struct kl_walk_seen *seen, const char *why)
{
	add_attempt(walk, seen->class_, seen, why);
	if (json_array_size(kl_walk_attempts(walk)) > KL_WALK_REPAIRS)
		settle_derivation(walk, "inverse");
	else
		go_to(walk, "derive");
}

void kl_walk_underived(struct kl_walk *walk, const char *class_, const struct kl_walk_seen *seen)
{
	add_attempt(walk, class_, seen, NULL);
	if (!strcmp(class_, "budget"))
		kl_json_set_str(walk->state, "rederive_off", class_);
	settle_derivation(walk, "inverse");
}

enum kl_walk_derivation kl_walk_decide_derived(const char **class_, const struct kl_walk *walk,
					       const struct kl_walk_derived_ruling *ruling)
{
	bool shown = ruling->verdict == KL_VERDICT_PASS || ruling->verdict == KL_VERDICT_FAIL;

	*class_ = "";
	if (ruling->verdict == KL_VERDICT_FAIL) {
		*class_ = *ruling->class_ ? ruling->class_ : kl_verdict_name(ruling->verdict);
		return KL_DERIVED_FAIL;
	}
	if (shown && ruling->unchanged) {
		*class_ = "no-change";
		return KL_DERIVED_FAIL;
	}
	if (shown && ruling->missing && !ruling->same_code) {
		*class_ = "not-there";
		return KL_DERIVED_FAIL;
	}
	if (shown && (ruling->same_code || ruling->not_slower))
		return KL_DERIVED_TAKE;
	if (shown && ruling->slower) {
		*class_ = "slower";
		return KL_DERIVED_FAIL;
	}
	/* + 1 because this measurement is not recorded yet */
	if (json_array_size(kl_walk_measurements(walk)) + 1 < KL_WALK_MEASUREMENTS)
		return KL_DERIVED_MEASURE;
	*class_ = "not-shown";
	return KL_DERIVED_UNSHOWN;
}
