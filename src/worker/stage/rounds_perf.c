/* SPDX-License-Identifier: Apache-2.0 */
/* rounds_perf - calls the candidate at performance points */
#include <string.h>

#include "worker/measure/script.h"
#include "worker/stage/schedule.h"

/* If a call costs more, leave the third noise draw of a performance point to the profile. */
#define VERY_SLOW_NS 1000000000
#define SCRIPTS 4 /* minimum number of scripts at a performance point, unless calls are slow */

/* -- performance points on a GPU --------------------------------------------- */

/* Run a round in which each member is called on the guard side of its first call. */
static int run_sides(struct kl_schedule *schedule, struct kl_round round)
{
	KL_AUTO(kl_freep) bool *side = kl_calloc(round.n + 1, sizeof(*side));

	for (size_t i = 0; i < round.n; i++)
		for (size_t k = 0; k < schedule->n; k++)
			if (round.member[i] == schedule->all[k])
				side[i] = schedule->side[k];
	round.side = kl_schedule_is_one_sided(schedule) ? NULL : side;
	return kl_inquiry_round(schedule->inquiry, &round);
}

/*
 * Call the twin and then the first input in one process. In another process, alternate between
 * both, beginning with the first input. If the answer to an input is right in the process that
 * begins with it but wrong after the other input, the kernel has kept something. `other` is the
 * twin or, if there is none, another input in its place.
 */
static int run_twins(struct kl_schedule *schedule, struct kl_round round, size_t first,
		     size_t other)
{
	const size_t order[] = { first, other, first, other }, turned[] = { other, first };
	int err;

	round.member = turned;
	round.n = 2;
	round.twins = schedule->twin;
	err = run_sides(schedule, round);
	if (err < 0 || schedule->inquiry->class)
		return err;
	round.member = order;
	round.n = 4;
	return run_sides(schedule, round);
}

static bool leave_perf(const void *ctx, size_t i)
{
	const struct kl_schedule *schedule = ctx;

	if (kl_schedule_cost(schedule) > VERY_SLOW_NS &&
	    kl_pool_get(schedule->inquiry->pool, schedule->member[i])->draw > 1)
		return true;
	return i == schedule->spare && kl_schedule_saving(schedule) == KL_SAVING_NONE;
}

/*
 * Call every second member from `half` on, in random order. If calls are slow, half 0 also includes
 * the twin, right after the first noise draw; otherwise run_twins() calls the twin later.
 */
static int run_half(struct kl_schedule *schedule, struct kl_round round, size_t half)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(schedule->n + 1, sizeof(*order));
	size_t at = 0;

	for (size_t i = half; i < schedule->n - schedule->twin; i += 2)
		order[round.n++] = schedule->all[i];
	kl_rng_shuffle(&schedule->rng, order, round.n, sizeof(*order));
	schedule->spare = SIZE_MAX;
	if (half == 0 && schedule->twin) {
		while (order[at] != schedule->all[0])
			at++;
		memmove(order + at + 2, order + at + 1, (round.n - at - 1) * sizeof(*order));
		order[at + 1] = schedule->all[schedule->n - 1];
		schedule->spare = at + 1;
		round.n++;
	}
	round.member = schedule->member = order;
	round.leave = leave_perf;
	round.ctx = schedule;
	return run_sides(schedule, round);
}

/*
 * Call every member except the twin once, half of them in one child and half in another. After each
 * half, unless calls are slow, call an input of this half again in a new child, alternating with
 * another input; its answer must have the same bits as before. After the first half, these two are
 * the first noise draw and, if there is one, its twin. `alone` is that of kl_rounds_perf().
 */
static int perf_halves(struct kl_schedule *schedule, bool alone)
{
	struct kl_inquiry *inquiry = schedule->inquiry;
	size_t n = schedule->n - schedule->twin;
	int err = 0;

	for (size_t half = 0; half < 2 && half < n && err == 0 && !inquiry->class; half++) {
		const size_t next = schedule->all[(half + 1) % n];
		const size_t again[] = { next, schedule->all[half], next, schedule->all[half] };
		struct kl_round round = {
			.point = schedule->point,
			.right = half,
			.where = "",
		};

		err = run_half(schedule, round, half);
		round.member = again;
		round.n = 4;
		if (kl_schedule_saving(schedule) != KL_SAVING_NONE) {
			/* if no other point can show nondeterminism, call one input again here */
			round.member = again + 1;
			round.n = alone && half == 0;
		}
		if (err == 0 && !inquiry->class && round.n == 4 && half == 0)
			err = run_twins(schedule, round, schedule->all[0],
					schedule->twin ? schedule->all[n] : next);
		else if (err == 0 && !inquiry->class && round.n)
			err = run_sides(schedule, round);
	}
	return err;
}

/* -- performance points of kernels in C ---------------------------------------- */

static bool all_passed(const struct kl_schedule *schedule)
{
	for (size_t i = 0; i < schedule->n; i++)
		if (!kl_inquiry_passed(schedule->inquiry, schedule->all[i]))
			return false;
	return true;
}

/* If calls are slow, skip an input that was already answered correctly. */
static bool leave_passed(const void *ctx, size_t i)
{
	const struct kl_schedule *schedule = ctx;

	return kl_schedule_saving(schedule) != KL_SAVING_NONE &&
	       kl_inquiry_passed(schedule->inquiry, schedule->member[i]);
}

/* Make the calls of a script. */
static int run_script(struct kl_schedule *schedule, const struct kl_script *script)
{
	struct kl_inquiry *inquiry = schedule->inquiry;
	size_t member[KL_SCRIPT_CALLS], from = script->other ? 1 : 0;
	bool side[KL_SCRIPT_CALLS];
	struct kl_round round = {
		.point = schedule->point,
		.member = member + from,
		.side = side + from,
		.n = script->n - from,
		.before = script->other ? member : NULL,
		.twins = script->pair[0] || script->pair[1],
		.where = "",
		.leave = leave_passed,
		.ctx = schedule,
	};

	for (size_t i = 0; i < script->n; i++) {
		member[i] = kl_pool_find(inquiry->pool, script->call[i].member);
		side[i] = script->call[i].trial.place.right;
	}
	schedule->member = member + from;
	return kl_inquiry_round(inquiry, &round);
}

/*
 * Follow at least SCRIPTS scripts, and go on until every input was answered correctly and the first
 * noise draw and its twin were called one after the other in both orders. Stop in any case if calls
 * are slow. No script begins at another point, so that a kernel that is wrong here fails here.
 */
static int run_scripts(struct kl_schedule *schedule, struct kl_script_source *source)
{
	struct kl_inquiry *inquiry = schedule->inquiry;
	bool pair[2] = { !schedule->twin, !schedule->twin };
	int err = 0;

	for (int n = 0;
	     err == 0 && !inquiry->class && kl_schedule_saving(schedule) == KL_SAVING_NONE; n++) {
		bool all = all_passed(schedule);
		const struct kl_script_wish wish = {
			.measured = kl_schedule_cost(schedule) > KL_SCRIPT_SLOW_NS ?
					    1 :
					    KL_SCRIPT_MEASURED,
			.first = KL_SCRIPT_NEVER,
			.pair = all && n >= SCRIPTS,
			.turn = pair[0],
		};
		struct kl_script script;

		if (n >= SCRIPTS && all && pair[0] && pair[1])
			break;
		kl_script_draw(&script, source, &schedule->rng, &wish);
		err = run_script(schedule, &script);
		pair[0] |= script.pair[0];
		pair[1] |= script.pair[1];
	}
	return err;
}

/*
 * If calls are slow, call the inputs that were not yet answered correctly, in two processes; the
 * twin comes right after the first noise draw. If `alone`, call the first noise draw once more to
 * check determinism, since no other point checks it.
 */
static int run_rest(struct kl_schedule *schedule, bool alone)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(schedule->n + 2, sizeof(*order));
	struct kl_inquiry *inquiry = schedule->inquiry;
	size_t twin = schedule->twin ? schedule->all[schedule->n - 1] : KL_POOL_NONE, n = 0;
	struct kl_round round = { .point = schedule->point, .where = "" };
	size_t first;
	int err = 0;

	for (size_t i = 0; i < schedule->n - schedule->twin; i++) {
		size_t index = schedule->all[i];

		if (!kl_inquiry_passed(inquiry, index) &&
		    (kl_schedule_cost(schedule) <= VERY_SLOW_NS ||
		     kl_pool_get(inquiry->pool, index)->draw <= 1))
			order[n++] = index;
	}
	kl_rng_shuffle(&schedule->rng, order, n, sizeof(*order));
	if (schedule->twin && !kl_inquiry_passed(inquiry, twin)) {
		order[n++] = schedule->all[0];
		order[n++] = twin;
		round.twins = true;
	}
	first = round.twins && n == 2 ? 0 : n / 2; /* calls of the first process */
	for (int half = 0; half < 2 && err == 0 && !inquiry->class; half++) {
		round.right = half;
		round.member = order + (half ? first : 0);
		round.n = half ? n - first : first;
		err = round.n ? run_sides(schedule, round) : 0;
	}
	round.member = schedule->all;
	round.n = 1;
	return err < 0 || inquiry->class || !alone ? err : run_sides(schedule, round);
}

static int perf_point(struct kl_schedule *schedule, bool alone)
{
	KL_AUTO(kl_script_source_release) struct kl_script_source source = { .point = NULL };
	struct kl_inquiry *inquiry = schedule->inquiry;
	int err = kl_script_source(&source, inquiry->job, inquiry->pool, NULL, schedule->point);

	if (err == 0)
		err = run_scripts(schedule, &source);
	if (err == 0 && !inquiry->class && kl_schedule_saving(schedule) != KL_SAVING_NONE)
		err = run_rest(schedule, alone);
	return err;
}

int kl_rounds_perf(struct kl_rounds_left *left, struct kl_inquiry *inquiry,
		   const struct kl_point *pt, bool alone)
{
	KL_AUTO(kl_schedule_release) struct kl_schedule schedule = { .all = NULL };
	int err;

	kl_schedule_init(&schedule, inquiry, pt);
	err = kl_schedule_is_one_sided(&schedule) ? perf_halves(&schedule, alone) :
						    perf_point(&schedule, alone);
	kl_schedule_left(left, &schedule);
	return err;
}

int kl_rounds_perf_again(struct kl_inquiry *inquiry, const struct kl_point *pt)
{
	KL_AUTO(kl_schedule_release) struct kl_schedule schedule = { .all = NULL };
	KL_AUTO(kl_script_source_release) struct kl_script_source source = { .point = NULL };
	const struct kl_script_wish wish = { .measured = 1, .first = KL_SCRIPT_ELSEWHERE };
	struct kl_script script;
	int err;

	kl_schedule_init(&schedule, inquiry, pt);
	if (kl_schedule_is_one_sided(&schedule) || kl_schedule_saving(&schedule) != KL_SAVING_NONE)
		return 0;
	err = kl_script_source(&source, inquiry->job, inquiry->pool, NULL, pt);
	if (err < 0 || !source.nelsewhere)
		return err;
	kl_script_draw(&script, &source, &schedule.rng, &wish);
	return run_script(&schedule, &script);
}
