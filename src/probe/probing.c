/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/probing_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/proc.h"
#include "probe/refine.h"
#include "probe/wide.h"
#include "retrieve/constants.h"

#define MAX_CONSTANTS 24
#define REFINE_EVERY 8 /* points */
/*
 * If the runner judges elsewhere, add this many points between a pass and a failure at once,
 * because each wave takes long. Two waves of seven points find a bound among 64 values; halving the
 * interval would take six waves.
 */
#define BETWEEN_ELSEWHERE 7
#define REPEATS 3      /* number of points at which a state is judged twice */
#define REPEAT_AT 15   /* judge them again after this many points */
#define DRAW_SEED 1526 /* a fixed seed, so that every run draws the same points */

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

/* --- all points ------------------------------------------------------------------------------- */

static int ask_point(struct kl_probing_run *run, size_t point, size_t from, size_t to)
{
	int err = 0;

	kl_progress_title(run->o->progress, "point %zu of %zu, %zu judged", point + 1,
			  run->out->points.n, run->out->judged);
	for (size_t state = from; state < to && !err; state++)
		err = kl_probing_ask(run, state, point);
	return err;
}

/* Return true if points may be added to the list. */
static bool refines(const struct kl_probing_run *run)
{
	return !run->o->naxis && !run->o->stored;
}

/*
 * For each step, add points between a point that passes and one that fails, and judge them for the
 * two states of the step. Do nothing while a runner still owes results: the points that are added
 * would otherwise depend on which results came first.
 */
static int refine_steps(struct kl_probing_run *run)
{
	int err = 0;

	for (size_t i = 1; i < run->out->n && !err && !run->out->waiting; i++) {
		size_t from = run->out->points.n;

		kl_probe_refine(&run->out->points, run->out, i,
				kl_gate_is_remote(run->gate) ? BETWEEN_ELSEWHERE : 1);
		grow_sides(run->out);
		run->out->added += run->out->points.n - from;
		for (size_t point = from; point < run->out->points.n && !err; point++)
			err = ask_point(run, point, i - 1, i + 1);
	}
	return err;
}

static void count_left(struct kl_probing *probe, size_t listed)
{
	for (size_t point = 0; point < listed; point++)
		for (size_t i = 0; i < probe->n; i++)
			if (!probe->state[i].side[point].asked &&
			    !probe->state[i].side[point].waits) {
				probe->left++;
				break;
			}
}

/*
 * Judge a state once more at a few points where it passes, to find out whether it gives the same
 * bits in every call.
 */
static int repeat_state(struct kl_probing_run *run, size_t state)
{
	struct kl_probe_state *of = &run->out->state[state];
	int err = 0;

	for (; of->repeat_next < run->out->points.n && of->repeated < REPEATS; of->repeat_next++) {
		size_t i = of->repeat_next;
		struct kl_probe_point point = run->out->points.v[i];
		struct kl_probe_side again = { .asked = false };
		const char *bits = of->side[i].event ? kl_json_str_or(of->side[i].event->correct,
								      "outputs", "") :
						       "";

		if (of->side[i].end != KL_PROBE_PASSES || point.values != KL_PROBE_PLAIN ||
		    point.base || !*bits)
			continue;
		point.repeat = 1;
		err = kl_probing_judge(&again, run, state, &point);
		if (err < 0 || (!again.asked && !again.waits)) /* the time is up */
			return err;
		run->out->waiting += again.waits;
		of->repeated += again.waits || again.end != KL_PROBE_UNTESTED;
		of->repeat_same += again.event &&
				   !strcmp(kl_json_str_or(again.event->correct, "outputs", ""),
					   bits);
		free(again.why);
	}
	return 0;
}

static int repeat_states(struct kl_probing_run *run)
{
	int err = 0;

	for (size_t i = 0; i < run->out->n && !err && refines(run); i++)
		err = repeat_state(run, i);
	return err;
}

/* Draw points and judge them. No condition is fitted to these points. */
static int ask_drawn(struct kl_probing_run *run)
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

static int ask_points(struct kl_probing_run *run)
{
	size_t listed = run->out->points.n;
	int err = 0;

	for (size_t point = 0; point < listed && !err; point++) {
		err = ask_point(run, point, 0, run->out->n);
		if (!err && refines(run) && !kl_gate_is_remote(run->gate) &&
		    (point + 1) % REFINE_EVERY == 0)
			err = refine_steps(run);
		if (!err && point == REPEAT_AT)
			err = repeat_states(run);
		if (!err && kl_proc_interrupted())
			err = kl_error(KL_EINTR, "interrupted");
	}
	/* Now also wait for the points that another process was judging. */
	run->patient = true;
	for (size_t point = 0; point < listed && !err; point++)
		err = ask_point(run, point, 0, run->out->n);
	for (int turn = 0; turn < 4 && !err && refines(run); turn++)
		err = refine_steps(run);
	if (!err)
		err = repeat_states(run);
	run->out->drawn = run->out->points.n;
	run->until = run->end;
	if (!err && run->o->check)
		err = ask_drawn(run);
	count_left(run->out, listed);
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

int kl_probing_gate(struct kl_gate **out, const struct kl_probing_opts *opts)
{
	return kl_gate_open(out, opts->repo,
			    &(struct kl_gate_opts){
				    .progress = opts->progress,
				    .jail = opts->jail,
				    .platform = opts->platform,
				    .no_profile = true,
			    });
}

/*
 * Put the events into a segment. If this fails, they stay in the log, where the next run finds
 * them.
 */
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

int kl_probing_run(struct kl_probing *out, struct kl_gate *gate,
		   const struct kl_surface *const *state, size_t n,
		   const struct kl_probing_opts *opts)
{
	int64_t constant[MAX_CONSTANTS];
	struct kl_probing_run run = { .out = out, .o = opts, .gate = gate };
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
						.most = opts->most,
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
	run.until = run.end = opts->ms < 0 ? INT64_MAX : kl_clock_ns() + opts->ms * 1000000;
	if (opts->check && opts->ms > 0)
		run.until -= opts->ms * 500000;
	err = ask_points(&run);
	return err < 0 ? err : seal_events(out);
}
