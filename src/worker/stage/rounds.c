/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/stage/rounds.h"

#include <string.h>

#include "base/rng.h"
#include "worker/measure/script.h"

/*
 * Time for the calls at one point. If they would take longer, each input is called once: at a
 * performance point however slow the kernel is, but for the third noise draw (VERY_SLOW_NS).
 */
#define POINT_NS ((int64_t)3000000000)
/* At any other point inputs are left out if once each would take longer; cuda: than POINT_NS. */
#define MOST_NS ((int64_t)60000000000)
/* If a call takes longer, the third noise draw of a performance point is left to the profile. */
#define VERY_SLOW_NS 1000000000
/*
 * A call at another point comes first in some processes, if it does not cost more than the first
 * time; once it may cost more.
 */
#define BEFORE_NS 20000000
#define BEFORE_ONCE_NS 500000000
#define SCRIPTS 4 /* least number of scripts at a performance point */

/* One point and the calls to skip there. */
struct schedule {
	struct kl_inquiry *inquiry;
	const struct kl_point *point;
	size_t *all; /* indices of its members, the twin last */
	bool *side;  /* for each of them, the side of its first call */
	size_t n;
	bool twin;
	bool one_side; /* cuda: all calls of a process have the same side */
	struct kl_rng rng;
	/* for the current round: */
	const size_t *member;
	size_t spare;       /* index of a call that is made only if calls are slow */
	size_t first, step; /* if calls are slow, make only every `step`-th call from `first` on */
};

static void schedule_release(struct schedule *schedule)
{
	free(schedule->all);
	free(schedule->side);
}

static bool is_twin(const struct kl_inquiry *inquiry, size_t index)
{
	const struct kl_member *member = kl_pool_get(inquiry->pool, index);

	return member == kl_pool_twin(inquiry->pool, member->point);
}

static void schedule_init(struct schedule *schedule, struct kl_inquiry *inquiry,
			  const struct kl_point *pt)
{
	struct kl_key key = kl_key_derive(&inquiry->order, pt->id);
	size_t size = kl_pool_size(inquiry->pool), twin = SIZE_MAX;

	*schedule = (struct schedule){ .inquiry = inquiry,
				       .point = pt,
				       .one_side = inquiry->job->surface == KL_SURFACE_CUDA,
				       .spare = SIZE_MAX };
	kl_rng_key(&schedule->rng, &key, 0);
	schedule->all = kl_calloc(size + 2, sizeof(*schedule->all));
	schedule->side = kl_calloc(size + 2, sizeof(*schedule->side));
	for (size_t i = 0; i < size; i++) {
		if (kl_pool_get(inquiry->pool, i)->point != pt)
			continue;
		if (is_twin(inquiry, i))
			twin = i;
		else
			schedule->all[schedule->n++] = i;
	}
	schedule->twin = twin != SIZE_MAX;
	if (schedule->twin)
		schedule->all[schedule->n++] = twin;
	for (size_t i = 0; i < schedule->n; i++)
		schedule->side[i] = kl_rng_below(&schedule->rng, 2);
}

/* -- what calls cost ------------------------------------------------------ */

enum saving {
	NONE,
	LEAN, /* call each input once */
	LEAST /* skip some inputs */
};

static int64_t schedule_cost(const struct schedule *schedule)
{
	return schedule->inquiry->cost[schedule->point - schedule->inquiry->job->point];
}

/* Number of calls if time were no limit; scripts have about this many. */
static size_t full_size(const struct schedule *schedule)
{
	return schedule->point->perf ? schedule->n + 14 : 3 * schedule->n + 2;
}

static int64_t most_ns(const struct schedule *schedule)
{
	return schedule->one_side ? POINT_NS : MOST_NS;
}

/* Decide from the least cost seen so far, which errs towards skipping too few calls. */
static enum saving schedule_saving(const struct schedule *schedule)
{
	if (schedule_cost(schedule) * (int64_t)full_size(schedule) <= POINT_NS)
		return NONE;
	return schedule->point->perf || schedule_cost(schedule) * (int64_t)(schedule->n + 2) <=
						most_ns(schedule) ?
		       LEAN :
		       LEAST;
}

/* Number of inputs that there is time for; the first, which is noise, is called twice. */
static size_t affordable_members(const struct schedule *schedule)
{
	int64_t cost = schedule_cost(schedule), n = most_ns(schedule) / (cost ? cost : 1) - 1;

	return n < 2 ? 2 : (size_t)n;
}

static void report_left(struct kl_rounds_left *left, const struct schedule *schedule)
{
	*left = (struct kl_rounds_left){ .further = schedule_saving(schedule) != NONE };
	for (size_t i = 0; i < schedule->n; i++)
		if (kl_inquiry_passed(schedule->inquiry, schedule->all[i]))
			left->asked++;
	left->members = schedule->n - left->asked;
}

/* -- another point first -------------------------------------------------------- */

static int64_t elements_of(const struct kl_inquiry *inquiry, const struct kl_point *pt)
{
	int64_t n = 0;

	for (size_t i = 0; i < inquiry->job->nargs; i++)
		n += pt->arg[i].naxes ? kl_point_elements(pt, i) : 0;
	return n;
}

/*
 * Choose a member at a larger point that was called before, so that its cost is known: at
 * inquiry->after_perf one at a performance point. False: there is none that is cheap enough.
 */
static bool choose_before(size_t *out, struct schedule *schedule)
{
	const struct kl_inquiry *inquiry = schedule->inquiry;
	int64_t own = elements_of(inquiry, schedule->point);
	bool perf = inquiry->after_perf == schedule->point;
	size_t found = 0;

	for (size_t i = 0; !schedule->one_side && i < kl_pool_size(inquiry->pool); i++) {
		const struct kl_point *pt = kl_pool_get(inquiry->pool, i)->point;
		int64_t cost = inquiry->cost[pt - inquiry->job->point];

		if (pt == schedule->point || !cost || (perf && !pt->perf) ||
		    cost > (perf ? BEFORE_ONCE_NS : BEFORE_NS) || elements_of(inquiry, pt) <= own)
			continue;
		if (kl_rng_below(&schedule->rng, ++found) == 0)
			*out = i;
	}
	return found > 0;
}

/* -- performance points on a GPU --------------------------------------------- */

/* Run a round in which each member has the side of its first call. */
static int run_sides(struct schedule *schedule, struct kl_round round)
{
	KL_AUTO(kl_freep) bool *side = kl_calloc(round.n + 1, sizeof(*side));

	for (size_t i = 0; i < round.n; i++)
		for (size_t k = 0; k < schedule->n; k++)
			if (round.member[i] == schedule->all[k])
				side[i] = schedule->side[k];
	round.side = schedule->one_side ? NULL : side;
	return kl_inquiry_round(schedule->inquiry, &round);
}

/*
 * Call the twin and then the first input in one process, and both in turn in another. Each then
 * comes before the other once, so that an answer that is only wrong after the other one must have
 * been kept. If there is no twin, another input takes its place.
 */
static int run_twins(struct schedule *schedule, struct kl_round round, size_t first, size_t other)
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
	const struct schedule *schedule = ctx;

	if (schedule_cost(schedule) > VERY_SLOW_NS &&
	    kl_pool_get(schedule->inquiry->pool, schedule->member[i])->draw > 1)
		return true;
	return i == schedule->spare && schedule_saving(schedule) == NONE;
}

/*
 * Call every second member from `half` on, in random order, and the twin right after its sibling if
 * it would otherwise not be called.
 */
static int run_half(struct schedule *schedule, struct kl_round round, size_t half)
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
 * Call every member but the twin once, in one of two children. Then, unless calls are slow, call
 * the first input of each again in a new child, after another input and after itself: the bits must
 * be those of the first time. The twin is called there too; if calls are slow, right after its
 * sibling.
 */
static int perf_halves(struct schedule *schedule, bool alone)
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
		if (schedule_saving(schedule) != NONE) {
			/* if no other point can show nondeterminism, check it at least once */
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

static bool all_passed(const struct schedule *schedule)
{
	for (size_t i = 0; i < schedule->n; i++)
		if (!kl_inquiry_passed(schedule->inquiry, schedule->all[i]))
			return false;
	return true;
}

/* If calls are slow, an input that was answered rightly is not called again. */
static bool leave_passed(const void *ctx, size_t i)
{
	const struct schedule *schedule = ctx;

	return schedule_saving(schedule) != NONE &&
	       kl_inquiry_passed(schedule->inquiry, schedule->member[i]);
}

/* Call the candidate as a script says. */
static int run_script(struct schedule *schedule, const struct kl_script *script)
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
 * Follow scripts until every input was called, and the first noise and its twin in a row in either
 * order. None begins at another point: a kernel that is wrong here must be found so here.
 */
static int run_scripts(struct schedule *schedule, struct kl_script_source *source)
{
	struct kl_inquiry *inquiry = schedule->inquiry;
	bool pair[2] = { !schedule->twin, !schedule->twin };
	int err = 0;

	for (int n = 0; err == 0 && !inquiry->class && schedule_saving(schedule) == NONE; n++) {
		bool all = all_passed(schedule);
		const struct kl_script_wish wish = {
			.measured = schedule_cost(schedule) > KL_SCRIPT_SLOW_NS ?
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
 * Calls are slow: call each input that was not called yet, the twin right after its sibling, in two
 * processes; and if no other point can show nondeterminism, one again.
 */
static int run_rest(struct schedule *schedule, bool alone)
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
		    (schedule_cost(schedule) <= VERY_SLOW_NS ||
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

static int perf_point(struct schedule *schedule, bool alone)
{
	KL_AUTO(kl_script_source_release) struct kl_script_source source = { .point = NULL };
	struct kl_inquiry *inquiry = schedule->inquiry;
	int err = kl_script_source(&source, inquiry->job, inquiry->pool, NULL, schedule->point);

	if (err == 0)
		err = run_scripts(schedule, &source);
	if (err == 0 && !inquiry->class && schedule_saving(schedule) != NONE)
		err = run_rest(schedule, alone);
	return err;
}

int kl_rounds_perf(struct kl_rounds_left *left, struct kl_inquiry *inquiry,
		   const struct kl_point *pt, bool alone)
{
	KL_AUTO(schedule_release) struct schedule schedule = { .all = NULL };
	int err;

	schedule_init(&schedule, inquiry, pt);
	err = schedule.one_side ? perf_halves(&schedule, alone) : perf_point(&schedule, alone);
	report_left(left, &schedule);
	return err;
}

int kl_rounds_perf_again(struct kl_inquiry *inquiry, const struct kl_point *pt)
{
	KL_AUTO(schedule_release) struct schedule schedule = { .all = NULL };
	KL_AUTO(kl_script_source_release) struct kl_script_source source = { .point = NULL };
	const struct kl_script_wish wish = { .measured = 1, .first = KL_SCRIPT_ELSEWHERE };
	struct kl_script script;
	int err;

	schedule_init(&schedule, inquiry, pt);
	if (schedule.one_side || schedule_saving(&schedule) != NONE)
		return 0;
	err = kl_script_source(&source, inquiry->job, inquiry->pool, NULL, pt);
	if (err < 0 || !source.nelsewhere)
		return err;
	kl_script_draw(&script, &source, &schedule.rng, &wish);
	return run_script(&schedule, &script);
}

/* -- other points ----------------------------------------------------------- */

/*
 * Order the members: noise first, then its twin, then the bands in random order, so that if not all
 * are called, it is a different selection each time.
 */
static void draw_order(struct schedule *schedule)
{
	size_t fixed = schedule->twin ? 2 : 1, last = schedule->all[schedule->n - 1];

	if (schedule->twin && schedule->n > 2) {
		memmove(schedule->all + 2, schedule->all + 1,
			(schedule->n - 2) * sizeof(*schedule->all));
		schedule->all[1] = last;
	}
	if (schedule->n > fixed)
		kl_rng_shuffle(&schedule->rng, schedule->all + fixed, schedule->n - fixed,
			       sizeof(*schedule->all));
}

/* Skip by index among the members; the index after the last one stands for the first again. */
static bool leave_also(const void *ctx, size_t i)
{
	const struct schedule *schedule = ctx;
	enum saving now = schedule_saving(schedule);

	if (now == NONE)
		return false;
	if (i == schedule->n)
		return now == LEAST || schedule->first;
	return i % schedule->step != schedule->first ||
	       (now == LEAST && i >= affordable_members(schedule));
}

static bool leave_backward(const void *ctx, size_t i)
{
	const struct schedule *schedule = ctx;

	return schedule_saving(schedule) != NONE && i + 1 < schedule->n;
}

/* Call the inputs that were skipped while calls seemed slower than they turned out to be. */
static int catch_up(struct schedule *schedule, struct kl_round round)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(schedule->n + 1, sizeof(*order));

	round.leave = NULL;
	round.right = false;
	round.side = NULL;
	round.member = order;
	round.n = 0;
	for (size_t i = 0; i < schedule->n && schedule_saving(schedule) != LEAST; i++)
		if (!kl_inquiry_passed(schedule->inquiry, schedule->all[i]))
			order[round.n++] = schedule->all[i];
	return round.n ? kl_inquiry_round(schedule->inquiry, &round) : 0;
}

/*
 * Call every member on both sides and the first once more; then, in a new child and after a call
 * at a larger point, all of them in reverse. If calls are slow, call every second one in either of
 * the first two children, and only the first in the third.
 */
static int also_rounds(struct schedule *schedule)
{
	struct kl_inquiry *inquiry = schedule->inquiry;
	KL_AUTO(kl_freep) size_t *order = kl_calloc(schedule->n + 1, sizeof(*order));
	KL_AUTO(kl_freep) bool *side = kl_calloc(schedule->n + 1, sizeof(*side));
	struct kl_round round = {
		.point = schedule->point,
		.member = order,
		.n = schedule->n + 1,
		.side = schedule->one_side ? NULL : side,
		.where = "",
		.leave = leave_also,
		.ctx = schedule,
	};
	size_t before;
	int err = 0;

	memcpy(order, schedule->all, schedule->n * sizeof(*order));
	order[schedule->n] = schedule->all[0];
	schedule->step = 2;
	for (int turn = 0; turn < 2 && err == 0 && !inquiry->class; turn++) {
		for (size_t i = 0; i <= schedule->n; i++)
			side[i] = schedule->side[i % schedule->n] ^ turn;
		round.right = turn;
		schedule->first = turn && schedule->n > 1;
		err = kl_inquiry_round(inquiry, &round);
	}
	if (err == 0 && !inquiry->class)
		err = catch_up(schedule, round);
	if (err < 0 || inquiry->class)
		return err;
	for (size_t i = 0; i < schedule->n; i++) {
		order[i] = schedule->all[schedule->n - 1 - i];
		side[i] = schedule->side[schedule->n - 1 - i];
	}
	round.right = false;
	round.n = schedule->n;
	round.leave = leave_backward;
	if (choose_before(&before, schedule))
		round.before = &before;
	return kl_inquiry_round(inquiry, &round);
}

int kl_rounds_also(struct kl_rounds_left *left, struct kl_inquiry *inquiry,
		   const struct kl_point *pt)
{
	KL_AUTO(schedule_release) struct schedule schedule = { .all = NULL };
	int err;

	*left = (struct kl_rounds_left){ .further = false };
	schedule_init(&schedule, inquiry, pt);
	if (!schedule.n)
		return 0;
	draw_order(&schedule);
	err = also_rounds(&schedule);
	report_left(left, &schedule);
	return err;
}
