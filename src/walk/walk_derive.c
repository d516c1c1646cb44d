/* SPDX-License-Identifier: Apache-2.0 */
/* walk_derive - the walk's state machine for steps that are derived anew */
#include <string.h>

#include "walk/walk.h"

const char *kl_walk_rederiver(const struct kl_walk *w)
{
	return *kl_walk_str(w, "rederive_off") ? "" : kl_walk_str(w, "rederive");
}

json_t *kl_walk_step(const struct kl_walk *w)
{
	json_t *steps = kl_walk_steps(w);
	size_t n = json_array_size(steps);

	return n ? json_array_get(steps, n - 1) : NULL;
}

json_t *kl_walk_attempts(const struct kl_walk *w)
{
	json_t *step = kl_walk_step(w), *list = json_object_get(step, "attempts");

	if (!list && step) {
		list = json_array();
		kl_json_set(step, "attempts", list);
	}
	return list;
}

/* a member of the step before the last; there is none before the first */
static const char *of_goal(const struct kl_walk *w, const char *key, const char *of_expert)
{
	json_t *steps = kl_walk_steps(w);
	size_t n = json_array_size(steps);

	return n > 1 ? kl_json_str_or(json_array_get(steps, n - 2), key, "") :
		       kl_walk_str(w, of_expert);
}

const char *kl_walk_goal(const struct kl_walk *w)
{
	return of_goal(w, "commit", "expert");
}

const char *kl_walk_goal_event(const struct kl_walk *w)
{
	return of_goal(w, "event", "expert_event");
}

const char *kl_walk_derived_tip(const struct kl_walk *w)
{
	return kl_walk_str(w, "derived_last");
}

static void go_to(struct kl_walk *w, const char *phase)
{
	kl_json_set_str(w->state, "phase", phase);
}

void kl_walk_derived(struct kl_walk *w, json_t *proposal)
{
	kl_json_set(w->state, "pending", proposal);
	go_to(w, "judge-derived");
}

json_t *kl_walk_measurements(const struct kl_walk *w)
{
	return json_object_get(kl_walk_pending(w), "measured");
}

void kl_walk_measured(struct kl_walk *w, json_t *event)
{
	if (!kl_walk_measurements(w))
		kl_json_set(kl_walk_pending(w), "measured", json_array());
	json_array_append_new(kl_walk_measurements(w), event);
}

/* who made it and from what, and what was seen of it */
static json_t *seen_outcome(const struct kl_walk *w, const struct kl_walk_seen *seen)
{
	static const char *const said[] = { "rewriter", "source", "text" };
	const json_t *pending = kl_walk_pending(w);
	json_t *j = json_object(), *events = json_array(), *e;
	size_t i;

	for (i = 0; pending && i < KL_ARRAY_SIZE(said); i++)
		kl_json_set_str(j, said[i], kl_json_str_or(pending, said[i], ""));
	if (kl_json_bool_or(pending, "unisolated", false))
		kl_json_set_bool(j, "unisolated", true);
	kl_json_set_str(j, "event", seen && seen->event ? seen->event : "");
	if (!seen || !seen->commit) {
		json_decref(events);
		return j;
	}
	json_array_foreach(kl_walk_measurements(w), i, e)
		json_array_append_new(events, json_string(kl_json_str_or(e, "id", "")));
	kl_json_set_str(j, "commit", seen->commit);
	kl_json_set_str(j, "surface", seen->surface);
	kl_json_set_int(j, "ns", seen->ns);
	kl_json_set(j, "measured", events);
	return j;
}

static void settle_derivation(struct kl_walk *w, const char *derivation)
{
	kl_json_set_str(kl_walk_step(w), "derivation", derivation);
	go_to(w, "ask");
}

const char *kl_walk_derivation(const json_t *outcome)
{
	if (!json_is_object(outcome))
		return "inverse";
	return kl_json_bool_or(outcome, "unisolated", false) ? "unisolated" : "rederived";
}

void kl_walk_rederived(struct kl_walk *w, const struct kl_walk_seen *seen)
{
	json_t *how = seen_outcome(w, seen);

	kl_json_set(kl_walk_step(w), "rederived", how);
	kl_json_set_str(w->state, "derived_last", seen->commit);
	json_object_del(w->state, "pending");
	settle_derivation(w, kl_walk_derivation(how));
}

static void add_attempt(struct kl_walk *w, const char *class_, const struct kl_walk_seen *seen,
			const char *why)
{
	json_t *a = seen_outcome(w, seen);

	kl_json_set_str(a, "class", class_);
	kl_json_set_str(a, "why", why ? why : "");
	json_array_append_new(kl_walk_attempts(w), a);
	if (seen && seen->commit)
		kl_json_set_str(w->state, "rejected_last", seen->commit);
	json_object_del(w->state, "pending");
}

void kl_walk_attempted(struct kl_walk *w, const struct kl_walk_seen *seen, const char *why)
{
	add_attempt(w, seen->class_, seen, why);
	if (json_array_size(kl_walk_attempts(w)) > KL_WALK_REPAIRS)
		settle_derivation(w, "inverse");
	else
		go_to(w, "derive");
}

void kl_walk_underived(struct kl_walk *w, const char *class_, const struct kl_walk_seen *seen)
{
	add_attempt(w, class_, seen, NULL);
	if (!strcmp(class_, "budget"))
		kl_json_set_str(w->state, "rederive_off", class_);
	settle_derivation(w, "inverse");
}

enum kl_walk_derivation kl_walk_decide_derived(const char **class_, const struct kl_walk *w,
					       const struct kl_walk_derived_ruling *r)
{
	bool shown = r->verdict == KL_VERDICT_PASS || r->verdict == KL_VERDICT_FAIL;

	*class_ = "";
	if (r->verdict == KL_VERDICT_FAIL) {
		*class_ = *r->class_ ? r->class_ : kl_verdict_name(r->verdict);
		return KL_DERIVED_FAIL;
	}
	if (shown && r->unchanged) {
		*class_ = "no-change";
		return KL_DERIVED_FAIL;
	}
	if (shown && (r->same_code || r->not_slower))
		return KL_DERIVED_TAKE;
	if (shown && r->slower) {
		*class_ = "slower";
		return KL_DERIVED_FAIL;
	}
	/* with this one, that will have been so many */
	if (json_array_size(kl_walk_measurements(w)) + 1 < KL_WALK_MEASUREMENTS)
		return KL_DERIVED_MEASURE;
	*class_ = "not-shown";
	return KL_DERIVED_UNSHOWN;
}
