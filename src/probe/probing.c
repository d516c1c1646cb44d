/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/probing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/proc.h"
#include "event/judgement.h"
#include "probe/refine.h"
#include "probe/wide.h"
#include "retrieve/constants.h"

#define MAX_CONSTANTS 24
#define REFINE_EVERY 8 /* points */
#define DRAW_SEED 1526 /* the same drawn points in every run */

struct run {
	struct kl_probing *out;
	const struct kl_probing_opts *o;
	struct kl_gate *gate;
	int64_t until; /* clock, in ns: judge no further point of the list after it */
	int64_t end;   /* ... and none at all */
	bool patient; /* wait for points that another process judges; false: leave them for later */
};

void kl_probing_release(struct kl_probing *probe)
{
	for (size_t i = 0; i < probe->n; i++) {
		for (size_t k = 0; k < probe->side_alloc; k++)
			free(probe->state[i].side[k].why);
		for (size_t k = 0; k < KL_PROBE_VALUES; k++)
			kl_surface_free(probe->state[i].wide[k]);
		free(probe->state[i].side);
	}
	free(probe->state);
	kl_probe_points_release(&probe->points);
	kl_probe_store_free(probe->store);
	free(probe->stopped);
	*probe = (struct kl_probing){ .n = 0 };
}

/* --- results ---------------------------------------------------------------------------------- */

/* Make room for one side of each point. */
static void grow_sides(struct kl_probing *probe)
{
	size_t now = probe->side_alloc, want = probe->points.n + 64;

	if (probe->points.n <= now)
		return;
	for (size_t i = 0; i < probe->n; i++) {
		struct kl_probe_side *side = kl_calloc(want, sizeof(*side));

		if (now)
			memcpy(side, probe->state[i].side, now * sizeof(*side));
		free(probe->state[i].side);
		probe->state[i].side = side;
	}
	probe->side_alloc = want;
}

static bool has_run(enum kl_failure failure)
{
	return failure == KL_FAILURE_HANG || failure == KL_FAILURE_FAULT ||
	       failure == KL_FAILURE_WRONG_ALL || failure == KL_FAILURE_WRONG_EDGE ||
	       failure == KL_FAILURE_NONDETERMINISTIC || failure == KL_FAILURE_LAUNCH;
}

/* Return true if the event decides the point for good, so that it is stored. */
static bool is_final(const struct kl_event *event)
{
	return event->verdict == KL_VERDICT_PASS || event->verdict == KL_VERDICT_NOT_RUN ||
	       (event->verdict == KL_VERDICT_FAIL && has_run(event->failure));
}

static void take_event(struct kl_probe_side *side, const struct kl_event *event)
{
	*side = (struct kl_probe_side){ .asked = true };
	if (event->verdict == KL_VERDICT_PASS)
		side->end = KL_PROBE_PASSES;
	else if (event->verdict == KL_VERDICT_FAIL && has_run(event->failure))
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
static json_t *point_json(const struct run *run, const struct kl_contract *contract,
			  const struct kl_probe_point *point)
{
	KL_AUTO(kl_freep) char *base = kl_probe_point_base(contract, point);
	json_t *dims = json_object(), *out = json_object();

	for (size_t i = 0; i < point->dims.n; i++)
		kl_json_set_int(dims, contract->dim_name[i], point->dims.v[i]);
	kl_json_set(out, "dims", dims);
	if (base)
		kl_json_set_str(out, "base", base);
	kl_json_set_str(out, "values", kl_probe_value_names[point->values]);
	kl_json_set_int(out, "seed", (int64_t)kl_probe_store_seed(run->out->store));
	return out;
}

/* Run the gate, and store the event. *out is owned by the caller. */
static int run_gate(struct kl_event **out, struct run *run, const struct kl_surface *wide,
		    const struct kl_probe_point *point, json_t *member)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	KL_AUTO(kl_freep) char *dims = kl_contract_dims_text(wide->contract, &point->dims);
	KL_AUTO(kl_freep) char *base = kl_probe_point_base(wide->contract, point);
	int err = kl_gate_judge_point(&judgement, run->gate, wide,
				      &(struct kl_gate_point){
					      .dims = dims,
					      .seed = kl_probe_store_seed(run->out->store),
					      .base = base,
				      });

	if (err < 0)
		return err;
	json_decref(judgement->event->point);
	judgement->event->point = json_incref(member);
	kl_event_seal(judgement->event);
	run->out->judged++;
	*out = kl_event_ref(judgement->event);
	return is_final(*out) ? kl_probe_store_put(run->out->store, *out) : 0;
}

/* Judge the point, which nobody else may judge meanwhile. *event stays NULL if another does. */
static int judge_claimed(struct kl_event **event, const struct kl_event **kept, struct run *run,
			 const struct kl_surface *wide, const struct kl_probe_point *point,
			 const struct kl_probe_key *key)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	int err = kl_probe_store_claim(&lock, run->out->store, key, run->patient ? -1 : 0);

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
	return run_gate(event, run, wide, point, (json_t *)(uintptr_t)key->point);
}

static int judge_point(struct kl_probe_side *side, struct run *run, size_t state,
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
	err = kl_probe_store_find(&kept, run->out->store, &key);
	if (err < 0 && err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	/* without time left go on with what is stored */
	if (err == KL_ENOTFOUND && kl_clock_ns() < run->until &&
	    (err = judge_claimed(&event, &kept, run, wide, point, &key)) < 0)
		return err;
	if (!kept && !event)
		return 0;
	run->out->kept += kept != NULL;
	free(side->why);
	take_event(side, kept ? kept : event);
	/* the store keeps the event, if it decides the point */
	side->event = kept ? kept : is_final(event) ? event : NULL;
	return 0;
}

/*
 * A pass says something about NaN only if the gate drew inputs with NaN, which a fill can forbid:
 * compare the number of inputs with that of the plain point.
 */
static int check_class(struct kl_probe_side *side, struct run *run, size_t state,
		       const struct kl_probe_point *point)
{
	struct kl_probe_point plain = *point;
	struct kl_probe_side other = { .asked = false };
	size_t kept = run->out->kept;
	bool patient = run->patient;
	int err;

	plain.values = KL_PROBE_PLAIN;
	run->patient = true;
	err = judge_point(&other, run, state, &plain);
	run->patient = patient;
	run->out->kept = kept; /* most often the plain point is one of the list */
	if (!err && other.asked && other.end == KL_PROBE_PASSES && side->bands <= other.bands) {
		KL_AUTO(kl_freep) char *why = kl_asprintf(
			"the gate draws no %s here: the point is too small, or the contract's fills "
			"do not allow it",
			kl_probe_value_names[point->values]);

		leave_untested(side, why);
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

static int ask_state(struct run *run, size_t state, size_t point)
{
	struct kl_probe_side *side = &run->out->state[state].side[point];
	const char *why = oracle_fails(run->out, state, point);
	int err;

	if (side->asked)
		return 0;
	if (why) {
		leave_untested(side, why);
		return 0;
	}
	err = judge_point(side, run, state, &run->out->points.v[point]);
	if (!err && side->end == KL_PROBE_PASSES &&
	    run->out->points.v[point].values != KL_PROBE_PLAIN)
		err = check_class(side, run, state, &run->out->points.v[point]);
	return err;
}

/* --- all points ------------------------------------------------------------------------------- */

static int ask_point(struct run *run, size_t point, size_t from, size_t to)
{
	int err = 0;

	kl_progress_title(run->o->progress, "point %zu of %zu, %zu judged", point + 1,
			  run->out->points.n, run->out->judged);
	for (size_t state = from; state < to && !err; state++)
		err = ask_state(run, state, point);
	return err;
}

/* Return true if points may be added to the list. */
static bool refines(const struct run *run)
{
	return !run->o->naxis && !run->o->stored;
}

/* Add points between a pass and a failure, and judge them for the two states of their step. */
static int refine_steps(struct run *run)
{
	int err = 0;

	for (size_t i = 1; i < run->out->n && !err; i++) {
		size_t from = run->out->points.n;

		kl_probe_refine(&run->out->points, run->out, i);
		grow_sides(run->out);
		run->out->added += run->out->points.n - from;
		for (size_t point = from; point < run->out->points.n && !err; point++)
			err = ask_point(run, point, i - 1, i + 1);
	}
	return err;
}

/* Draw points that take no part in the conditions, and judge them. */
static int ask_drawn(struct run *run)
{
	struct kl_probing *out = run->out;
	int err = 0;

	kl_probe_points_draw(&out->points, out->state[out->n - 1].surface->contract, run->o->check,
			     DRAW_SEED);
	grow_sides(out);
	for (size_t point = out->drawn; point < out->points.n && !err; point++) {
		err = ask_point(run, point, 0, out->n);
		if (!err && kl_proc_interrupted())
			err = kl_error(KL_EINTR, "interrupted");
	}
	return err;
}

static int ask_points(struct run *run)
{
	size_t listed = run->out->points.n;
	int err = 0;

	for (size_t point = 0; point < listed && !err; point++) {
		err = ask_point(run, point, 0, run->out->n);
		if (!err && refines(run) && (point + 1) % REFINE_EVERY == 0)
			err = refine_steps(run);
		if (!err && kl_proc_interrupted())
			err = kl_error(KL_EINTR, "interrupted");
	}
	/* the points that another process was judging */
	run->patient = true;
	for (size_t point = 0; point < listed && !err; point++)
		err = ask_point(run, point, 0, run->out->n);
	for (int turn = 0; turn < 4 && !err && refines(run); turn++)
		err = refine_steps(run);
	run->out->drawn = run->out->points.n;
	run->until = run->end;
	if (!err && run->o->check)
		err = ask_drawn(run);
	for (size_t point = 0; point < listed; point++)
		for (size_t i = 0; i < run->out->n; i++)
			if (!run->out->state[i].side[point].asked) {
				run->out->left++;
				break;
			}
	if (err == KL_ECANNOT) {
		run->out->stopped = kl_strdup(kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err == KL_EINTR) {
		run->out->interrupted = true;
		kl_error_clear();
		return 0;
	}
	return err;
}

/* --- preparing -------------------------------------------------------------------------------- */

static int compare_contracts(const struct kl_contract *left, const struct kl_contract *right)
{
	bool same = left->dims.n == right->dims.n && left->nargs == right->nargs;

	for (size_t i = 0; same && i < left->dims.n; i++)
		same = !strcmp(left->dim_name[i], right->dim_name[i]);
	for (size_t i = 0; same && i < left->nargs; i++)
		same = !strcmp(left->arg[i].name, right->arg[i].name) &&
		       left->arg[i].kind == right->arg[i].kind &&
		       left->arg[i].dtype == right->arg[i].dtype;
	return same ? 0 :
		      kl_error(KL_EUSAGE,
			       "the two contracts have different dims or arguments, so the kernels "
			       "cannot be judged at the same points");
}

static int make_states(struct kl_probing *out, const struct kl_surface *const *state, size_t n)
{
	int err = 0;

	out->state = kl_calloc(n, sizeof(*out->state));
	for (size_t i = 0; i < n && !err; i++) {
		out->n++;
		out->state[i].surface = state[i];
		if (i)
			err = compare_contracts(state[0]->contract, state[i]->contract);
		for (int k = 0; k < KL_PROBE_VALUES && !err; k++)
			err = kl_probe_widen(&out->state[i].wide[k], state[i],
					     (enum kl_probe_values)k);
	}
	return err;
}

/* List the constants of all states, the newest state first, each once. */
static size_t list_constants(int64_t out[MAX_CONSTANTS], const struct kl_surface *const *state,
			     size_t n)
{
	size_t count = 0;

	for (size_t i = n; i-- > 0;) {
		KL_AUTO(kl_constants_release) struct kl_card_dims dims = { 0 };

		kl_constants_read(&dims, state[i]);
		for (size_t k = 0; k < dims.n && count < MAX_CONSTANTS; k++) {
			bool known = dims.v[k].v < 2;

			for (size_t j = 0; j < count; j++)
				known = known || out[j] == dims.v[k].v;
			if (!known)
				out[count++] = dims.v[k].v;
		}
	}
	return count;
}

static int open_gate(struct run *run)
{
	int err = kl_gate_open(&run->gate, run->o->repo,
			       &(struct kl_gate_opts){
				       .progress = run->o->progress,
				       .jail = run->o->jail,
				       .platform = run->o->platform,
				       .no_profile = true,
			       });

	if (!err && kl_gate_is_remote(run->gate))
		return kl_error_hint(
			kl_error(KL_ECANNOT,
				 "the configured runner returns results later, but a probe needs "
				 "them immediately"),
			"run the probe on the machine that judges: git -c klineage.runner=local "
			"klineage probe ...");
	return err;
}

/* Without a segment the events stay in the log, where the next run finds them. */
static int seal_events(struct kl_probing *out)
{
	int err = 0;

	for (size_t i = 0; i < out->n && !err; i++)
		err = kl_probe_store_seal(out->store, out->state[i].surface->contract->workload);
	if (err != KL_EINTR)
		return err;
	kl_error_clear();
	out->interrupted = true;
	return 0;
}

int kl_probing_run(struct kl_probing *out, const struct kl_surface *const *state, size_t n,
		   const struct kl_probing_opts *opts)
{
	int64_t constant[MAX_CONSTANTS];
	struct run run = { .out = out, .o = opts };
	int err;

	*out = (struct kl_probing){ .tax = opts->tax };
	if ((err = make_states(out, state, n)) < 0 ||
	    (err = kl_probe_points_make(&out->points,
					&(struct kl_probe_points_of){
						.contract = state[n - 1]->contract,
						.constant = constant,
						.nconstant = list_constants(constant, state, n),
						.axis = opts->axis,
						.naxis = opts->naxis,
					})) < 0)
		return err;
	grow_sides(out);
	out->drawn = SIZE_MAX;
	if (opts->dry)
		return 0;
	if ((err = kl_probe_store_open(&out->store, opts->repo)) < 0)
		return err;
	if (opts->stored) {
		kl_probe_points_release(&out->points);
		if ((err = kl_probe_points_stored(&out->points, out->store,
						  &out->state[out->n - 1])) < 0)
			return err;
		grow_sides(out);
	}
	err = open_gate(&run);
	run.end = kl_clock_ns() + opts->ms * 1000000;
	run.until = run.end - (opts->check ? opts->ms * 500000 : 0);
	if (!err)
		err = ask_points(&run);
	kl_gate_free(run.gate);
	return err < 0 ? err : seal_events(out);
}
