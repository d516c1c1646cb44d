/* SPDX-License-Identifier: Apache-2.0 */
/* probing_judge - judges one state of a probe at one point, or takes the stored result */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "event/judgement.h"
#include "probe/probing_parts.h"

/* --- results ---------------------------------------------------------------------------------- */

static void take_event(struct kl_probe_side *side, const struct kl_event *event)
{
	*side = (struct kl_probe_side){ .asked = true };
	if (event->verdict == KL_VERDICT_PASS)
		side->end = KL_PROBE_PASSES;
	else if (event->verdict == KL_VERDICT_FAIL &&
		 kl_probe_store_is_about_kernel(event->failure))
		side->end = KL_PROBE_FAILS;
	snprintf(side->class_, sizeof(side->class_), "%s", kl_event_class(event));
	side->bands = kl_json_int_or(event->correct, "drawn_values", 0);
	if (side->end != KL_PROBE_PASSES)
		side->why = kl_strndup(event->message, kl_judgement_reason(event->message));
}

static void leave_untested(struct kl_probe_side *side, const char *why)
{
	free(side->why);
	*side = (struct kl_probe_side){ .asked = true, .why = kl_strdup(why) };
}

/* --- judging one state at one point ----------------------------------------------------------- */

/* Make the member `point` of the event. It has all that the inputs of the point depend on. */
static json_t *point_json(const struct kl_probing_run *run, const struct kl_contract *contract,
			  const struct kl_probe_point *point)
{
	KL_AUTO(kl_freep) char *base = kl_probe_point_base(contract, point);
	json_t *dims = json_object(), *out = json_object();

	for (size_t i = 0; i < point->dims.n; i++)
		kl_json_set_int(dims, contract->dim_name[i], point->dims.v[i]);
	kl_json_set(out, "dims", dims);
	if (base)
		kl_json_set_str(out, "base", base);
	if (point->repeat)
		kl_json_set_int(out, "repeat", point->repeat);
	kl_json_set_str(out, "values", kl_probe_value_names[point->values]);
	kl_json_set_int(out, "seed", (int64_t)kl_probe_store_seed(run->out->store));
	return out;
}

/*
 * Run the gate, and store the event. *out is owned by the caller; NULL if the job waits to be
 * judged elsewhere, and the event comes with its result.
 */
static int run_gate(struct kl_event **out, struct kl_probing_run *run,
		    const struct kl_surface *wide, const struct kl_probe_point *point,
		    json_t *member)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	KL_AUTO(kl_freep) char *dims = kl_contract_dims_text(wide->contract, &point->dims);
	KL_AUTO(kl_freep) char *base = kl_probe_point_base(wide->contract, point);
	int err = kl_gate_judge_point(&judgement, run->gate, wide,
				      &(struct kl_gate_point){
					      .dims = dims,
					      .seed = kl_probe_store_seed(run->out->store),
					      .base = base,
					      .member = member,
					      .campaign = KL_PROBE_CAMPAIGN,
				      });

	if (err < 0 || judgement->deferred)
		return err;
	run->out->judged++;
	*out = kl_event_ref(judgement->event);
	return kl_probe_store_is_final(*out) ? kl_probe_store_put(run->out->store, *out) : 0;
}

/* Return true if nothing new is to be judged: the time is up, or the bundle is full. */
static bool is_over(const struct kl_probing_run *run)
{
	return kl_clock_ns() >= run->until ||
	       (kl_gate_is_remote(run->gate) && kl_gate_is_full(run->gate));
}

/*
 * Judge the point, which nobody else may judge meanwhile. *event stays NULL if another does, or if
 * the job waits to be judged elsewhere (*waits).
 */
static int judge_claimed(bool *waits, struct kl_event **event, const struct kl_event **kept,
			 struct kl_probing_run *run, const struct kl_surface *wide,
			 const struct kl_probe_point *point, const struct kl_probe_key *key)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	int64_t rest = (run->until - kl_clock_ns()) / 1000000;
	int err = kl_probe_store_claim(&lock, run->out->store, key,
				       run->patient && rest > 0 ? rest : 0);

	if (err == KL_EBUSY) {
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	err = kl_probe_store_find(kept, run->out->store, key);
	if (err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	err = run_gate(event, run, wide, point, (json_t *)(uintptr_t)key->point);
	*waits = !err && !*event;
	return err;
}

int kl_probing_judge(struct kl_probe_side *side, struct kl_probing_run *run, size_t state,
		     const struct kl_probe_point *point)
{
	const struct kl_surface *wide = run->out->state[state].wide[point->values];
	KL_AUTO(json_decrefp) json_t *member = point_json(run, wide->contract, point);
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	const struct kl_event *kept = NULL;
	struct kl_platform platform;
	const struct kl_probe_key key = { wide->digest, wide->contract_digest, &platform, member };
	int err = kl_gate_platform(&platform, run->gate, wide);

	if (err < 0)
		return err;
	snprintf(run->out->platform, sizeof(run->out->platform), "%s", platform.id);
	err = kl_probe_store_find(&kept, run->out->store, &key);
	if (err < 0 && err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	/* If no time is left, use only stored results. */
	side->waits = false;
	if (err == KL_ENOTFOUND && !is_over(run) &&
	    (err = judge_claimed(&side->waits, &event, &kept, run, wide, point, &key)) < 0)
		return err;
	if (!kept && !event)
		return 0;
	run->out->kept += kept != NULL;
	free(side->why);
	take_event(side, kept ? kept : event);
	/* The store keeps only events that decide their point for good. */
	side->event = kept ? kept : kl_probe_store_is_final(event) ? event : NULL;
	return 0;
}

/*
 * A pass says something about NaN only if the gate drew inputs with NaN, which a fill can forbid:
 * compare the number of inputs with that of the plain point.
 */
static int check_class(struct kl_probe_side *side, struct kl_probing_run *run, size_t state,
		       const struct kl_probe_point *point)
{
	struct kl_probe_point plain = *point;
	struct kl_probe_side other = { .asked = false };
	size_t kept = run->out->kept;
	bool patient = run->patient;
	int err;

	plain.values = KL_PROBE_PLAIN;
	run->patient = true;
	err = kl_probing_judge(&other, run, state, &plain);
	run->patient = patient;
	run->out->kept = kept; /* do not count the plain point: most often it is in the list */
	if (!err && !other.asked) {
		/* The time is up. Without the plain point this one cannot be decided. */
		free(side->why);
		*side = (struct kl_probe_side){ .asked = false };
	} else if (!err && other.end == KL_PROBE_PASSES && side->bands <= other.bands) {
		KL_AUTO(kl_freep) char *why = kl_asprintf(
			"the gate draws no %s here: the point is too small, or the contract's fills "
			"do not allow it",
			kl_probe_value_names[point->values]);

		leave_untested(side, why);
	}
	if (other.waits) {
		free(side->why);
		*side = (struct kl_probe_side){ .waits = true };
	}
	free(other.why);
	return err;
}

/* Return true if another state has shown that the oracle cannot judge the point. */
static const char *oracle_fails(const struct kl_probing *probe, size_t state, size_t point)
{
	for (size_t i = 0; i < state; i++) {
		const struct kl_probe_side *side = &probe->state[i].side[point];

		if (side->end == KL_PROBE_UNTESTED && side->why &&
		    !strncmp(side->why, "the oracle", strlen("the oracle")) &&
		    !strcmp(probe->state[i].surface->contract_digest,
			    probe->state[state].surface->contract_digest))
			return side->why;
	}
	return NULL;
}

int kl_probing_ask(struct kl_probing_run *run, size_t state, size_t point)
{
	struct kl_probe_side *side = &run->out->state[state].side[point];
	const char *why = oracle_fails(run->out, state, point);
	int err;

	if (side->asked || side->waits)
		return 0;
	if (!why && run->out->state[state].uncompiled)
		why = "the kernel does not compile here, which one point shows";
	if (why) {
		leave_untested(side, why);
		return 0;
	}
	err = kl_probing_judge(side, run, state, &run->out->points.v[point]);
	run->out->state[state].uncompiled |= !strcmp(side->class_, "compile");
	if (!err && side->end == KL_PROBE_PASSES &&
	    run->out->points.v[point].values != KL_PROBE_PLAIN)
		err = check_class(side, run, state, &run->out->points.v[point]);
	run->out->waiting += side->waits;
	return err;
}
