/* SPDX-License-Identifier: Apache-2.0 */
/* correct - checks the candidate's answers on inputs it has not seen (stage correct) */
#include "worker/stage/stages.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "worker/measure/blocks.h"
#include "worker/stage/inquiry.h"
#include "worker/stage/retrial.h"

/*
 * Time for the calls at one point; a slower kernel is called less often. Some calls are always
 * made, once each: at a performance point, two noise draws and every band; at any other point, a
 * noise draw with one guard side and another input with the other, and the first input again, to
 * compare bits.
 */
#define POINT_NS ((int64_t)3000000000)
/* If a call takes longer, the third noise draw of a performance point is left to the profile. */
#define VERY_SLOW_NS 1000000000
#define SOAK_CALLS 50 /* plus fewer than SOAK_MORE, so that no kernel can foresee their number */
#define SOAK_MORE 16
#define SOAK_NS 500000000 /* time limit for the whole soak */

/* One point and the calls to skip there. */
struct schedule {
	struct kl_inquiry *inquiry;
	const struct kl_point *point;
	size_t *all; /* indices of its members, the twin last */
	size_t n;
	bool twin;
	/* for the current round: */
	const size_t *member;
	size_t spare;       /* index of a call that is made only if calls are slow */
	size_t first, step; /* if calls are slow, make only every `step`-th call from `first` on */
};

static void schedule_release(struct schedule *schedule)
{
	free(schedule->all);
}

static bool is_twin(const struct kl_inquiry *inquiry, size_t index)
{
	const struct kl_member *member = kl_pool_get(inquiry->pool, index);

	return member == kl_pool_twin(inquiry->pool, member->point);
}

static void schedule_init(struct schedule *schedule, struct kl_inquiry *inquiry,
			  const struct kl_point *pt)
{
	size_t twin = SIZE_MAX;

	*schedule = (struct schedule){ .inquiry = inquiry, .point = pt, .spare = SIZE_MAX };
	schedule->all = kl_calloc(kl_pool_size(inquiry->pool) + 2, sizeof(*schedule->all));
	for (size_t i = 0; i < kl_pool_size(inquiry->pool); i++) {
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

/* Number of calls if time were no limit. */
static size_t full_size(const struct schedule *schedule)
{
	return schedule->point->perf ? schedule->n + 14 : 3 * schedule->n + 2;
}

/* Decide from the least cost seen so far, which errs towards skipping too few calls. */
static enum saving schedule_saving(const struct schedule *schedule)
{
	if (schedule_cost(schedule) * (int64_t)full_size(schedule) <= POINT_NS)
		return NONE;
	return schedule->point->perf ||
			       schedule_cost(schedule) * (int64_t)(schedule->n + 2) <= POINT_NS ?
		       LEAN :
		       LEAST;
}

/* Number of inputs that there is time for; the first, which is noise, is called twice. */
static size_t affordable_members(const struct schedule *schedule)
{
	int64_t n = POINT_NS / (schedule_cost(schedule) ? schedule_cost(schedule) : 1) - 1;

	return n < 2 ? 2 : (size_t)n;
}

static void note_schedule(json_t *notes, const struct schedule *schedule)
{
	int64_t made = schedule->inquiry->made[schedule->point - schedule->inquiry->job->point];
	size_t met = 0;

	if (schedule_saving(schedule) == NONE || schedule->inquiry->class)
		return;
	for (size_t i = 0; i < schedule->n; i++)
		met += schedule->inquiry->passed[0][schedule->all[i]] ||
		       schedule->inquiry->passed[1][schedule->all[i]];
	kl_blocks_note(notes,
		       "%s: calls of %.2g s: %" PRId64 " made to judge the answers, %zu of %zu "
		       "inputs",
		       schedule->point->id, (double)schedule_cost(schedule) / 1e9, made, met,
		       schedule->n);
}

/* -- performance points --------------------------------------------------- */

/*
 * Call the twin and then the first input in one process, and both in turn in another. Each then
 * comes before the other once, so that an answer that is only wrong after the other one must have
 * been kept. If there is no twin, another input takes its place.
 */
static int run_twins(struct kl_inquiry *inquiry, struct kl_round round, size_t first, size_t other,
		     bool twin)
{
	const size_t order[] = { first, other, first, other }, turned[] = { other, first };
	int err;

	round.member = turned;
	round.n = 2;
	round.twins = twin;
	err = kl_inquiry_round(inquiry, &round);
	if (err < 0 || inquiry->class)
		return err;
	round.member = order;
	round.n = 4;
	return kl_inquiry_round(inquiry, &round);
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
 * Call every second member from `side` on, and the twin right after its sibling if it would
 * otherwise not be called.
 */
static int run_half(struct schedule *schedule, struct kl_round round, size_t side)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(schedule->n + 1, sizeof(*order));

	round.member = schedule->member = order;
	round.leave = leave_perf;
	round.ctx = schedule;
	schedule->spare = SIZE_MAX;
	for (size_t i = side; i < schedule->n - schedule->twin; i += 2) {
		order[round.n++] = schedule->all[i];
		if (i == 0 && schedule->twin) {
			schedule->spare = round.n;
			order[round.n++] = schedule->all[schedule->n - 1];
		}
	}
	return kl_inquiry_round(schedule->inquiry, &round);
}

/*
 * Call every member but the twin once, alternating between a child with left-aligned and one with
 * right-aligned buffers. Then, unless calls are slow, call the first input of each again in a new
 * child, after another input and after itself: the bits must be those of the first time. The twin
 * is called there too; if calls are slow, right after its sibling.
 */
static int perf_point(struct schedule *schedule, bool alone)
{
	struct kl_inquiry *inquiry = schedule->inquiry;
	size_t n = schedule->n - schedule->twin;
	int err = 0;

	for (size_t side = 0; side < 2 && side < n && err == 0 && !inquiry->class; side++) {
		const size_t next = schedule->all[(side + 1) % n];
		const size_t again[] = { next, schedule->all[side], next, schedule->all[side] };
		struct kl_kept kept = { 0 };
		struct kl_round round = {
			.point = schedule->point,
			.right = side,
			.watch = schedule->all[side],
			.kept = &kept,
			.where = "",
		};

		err = run_half(schedule, round, side);
		round.member = again;
		round.n = 4;
		if (schedule_saving(schedule) != NONE) {
			/* if no other point can show nondeterminism, check it at least once */
			round.member = again + 1;
			round.n = alone && side == 0;
		}
		if (err == 0 && !inquiry->class && round.n == 4 && side == 0)
			err = run_twins(inquiry, round, schedule->all[0],
					schedule->twin ? schedule->all[n] : next, schedule->twin);
		else if (err == 0 && !inquiry->class && round.n)
			err = kl_inquiry_round(inquiry, &round);
		kl_kept_release(&kept);
	}
	return err;
}

/* -- other points ----------------------------------------------------------- */

/*
 * Order the members: noise first, then its twin, then the bands in random order, so that if not all
 * are called, it is a different selection each time.
 */
static void draw_order(struct schedule *schedule)
{
	size_t fixed = schedule->twin ? 2 : 1, last = schedule->all[schedule->n - 1];
	struct kl_key key = kl_key_derive(&schedule->inquiry->order, schedule->point->id);
	struct kl_rng rng;

	kl_rng_key(&rng, &key, 0);
	if (schedule->twin && schedule->n > 2) {
		memmove(schedule->all + 2, schedule->all + 1,
			(schedule->n - 2) * sizeof(*schedule->all));
		schedule->all[1] = last;
	}
	for (size_t i = schedule->n; i > fixed + 1; i--) {
		size_t k = fixed + kl_rng_below(&rng, i - fixed), swap = schedule->all[i - 1];

		schedule->all[i - 1] = schedule->all[k];
		schedule->all[k] = swap;
	}
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
	round.watch = SIZE_MAX;
	round.member = order;
	round.n = 0;
	for (size_t i = 0; i < schedule->n && schedule_saving(schedule) != LEAST; i++)
		if (!schedule->inquiry->passed[0][schedule->all[i]] &&
		    !schedule->inquiry->passed[1][schedule->all[i]])
			order[round.n++] = schedule->all[i];
	return round.n ? kl_inquiry_round(schedule->inquiry, &round) : 0;
}

/*
 * Call every member with both guard sides and the first once more; then, in a new child, all of
 * them in reverse. If calls are slow, call every second one with either side, and only the first in
 * the new child.
 */
static int also_rounds(struct schedule *schedule, struct kl_kept kept[2])
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(schedule->n + 1, sizeof(*order));
	struct kl_round round = {
		.point = schedule->point,
		.member = order,
		.n = schedule->n + 1,
		.watch = schedule->all[0],
		.where = "",
		.leave = leave_also,
		.ctx = schedule,
	};
	int err = 0;

	memcpy(order, schedule->all, schedule->n * sizeof(*order));
	order[schedule->n] = schedule->all[0];
	schedule->step = 2;
	for (int right = 0; right < 2 && err == 0 && !schedule->inquiry->class; right++) {
		round.right = right;
		round.kept = &kept[right];
		schedule->first = right && schedule->n > 1;
		err = kl_inquiry_round(schedule->inquiry, &round);
	}
	if (err == 0 && !schedule->inquiry->class)
		err = catch_up(schedule, round);
	if (err < 0 || schedule->inquiry->class)
		return err;
	for (size_t i = 0; i < schedule->n; i++)
		order[i] = schedule->all[schedule->n - 1 - i];
	round.right = false;
	round.kept = &kept[0];
	round.n = schedule->n;
	round.leave = leave_backward;
	return kl_inquiry_round(schedule->inquiry, &round);
}

static int also_point(struct schedule *schedule)
{
	struct kl_kept kept[2] = { 0 };
	int err;

	if (!schedule->n)
		return 0;
	draw_order(schedule);
	err = also_rounds(schedule, kept);
	kl_kept_release(&kept[0]);
	kl_kept_release(&kept[1]);
	return err;
}

/* -- many calls ------------------------------------------------------------- */

/*
 * The most expensive point at which many calls are affordable; if there is none, the cheapest
 * point.
 */
static size_t soak_point(const struct kl_inquiry *inquiry)
{
	size_t best = 0;

	for (size_t at = 1; at < inquiry->job->npoint; at++) {
		bool cheap = inquiry->cost[at] <= SOAK_NS / SOAK_CALLS;
		bool was = inquiry->cost[best] <= SOAK_NS / SOAK_CALLS;

		if (cheap ? !was || inquiry->cost[at] > inquiry->cost[best] :
			    !was && inquiry->cost[at] < inquiry->cost[best])
			best = at;
	}
	return best;
}

/*
 * Make many calls in one process with changing inputs, to catch kernels that are right only the
 * first few times.
 */
static int soak_members(struct kl_inquiry *inquiry)
{
	size_t order[SOAK_CALLS + SOAK_MORE], at = soak_point(inquiry);
	struct kl_round round = { .member = order, .watch = SIZE_MAX, .where = "soak: " };
	KL_AUTO(schedule_release) struct schedule schedule = { .all = NULL };
	struct kl_key key = kl_key_derive(&inquiry->order, "the soak");
	struct kl_rng rng;

	schedule_init(&schedule, inquiry, &inquiry->job->point[at]);
	kl_rng_key(&rng, &key, 0);
	round.point = schedule.point;
	round.n = SOAK_CALLS + kl_rng_below(&rng, SOAK_MORE);
	if (inquiry->cost[at] > SOAK_NS / SOAK_CALLS)
		round.n = (size_t)(SOAK_NS / inquiry->cost[at]);
	for (size_t i = 0; i < round.n && schedule.n; i++)
		order[i] = schedule.all[kl_rng_below(&rng, schedule.n)];
	return schedule.n && round.n ? kl_inquiry_round(inquiry, &round) : 0;
}

/*
 * Judge performance points first: a kernel that passes there and fails at another point is wrong at
 * an edge.
 */
static int all_points(struct kl_inquiry *inquiry, json_t *notes)
{
	bool also = false;
	int err = 0;

	for (size_t i = 0; i < inquiry->job->npoint; i++)
		also = also || !inquiry->job->point[i].perf;
	for (size_t k = 0; k < 2 * inquiry->job->npoint && err == 0 && !inquiry->class; k++) {
		const struct kl_point *pt = &inquiry->job->point[k % inquiry->job->npoint];
		KL_AUTO(schedule_release) struct schedule schedule = { .all = NULL };

		if (pt->perf != (k < inquiry->job->npoint))
			continue;
		schedule_init(&schedule, inquiry, pt);
		err = pt->perf ? perf_point(&schedule, !also) : also_point(&schedule);
		note_schedule(notes, &schedule);
	}
	return err < 0 || inquiry->class ? err : soak_members(inquiry);
}

/* -- result ------------------------------------------------------------- */

static int64_t count_cases(const struct kl_inquiry *inquiry)
{
	int64_t n = 0;

	for (size_t i = 0; i < kl_pool_size(inquiry->pool); i++)
		n += inquiry->passed[0][i] || inquiry->passed[1][i];
	return n;
}

static void report_inquiry(json_t *result, struct kl_inquiry *inquiry, json_t *notes)
{
	json_t *object = json_object(), *seeds = json_array();
	double ppm = inquiry->margin * 1e6;
	KL_AUTO(kl_freep) char *seed = kl_asprintf("%" PRIu64, inquiry->job->seed);

	if (inquiry->job->seed)
		json_array_append_new(seeds, json_string(seed));
	kl_json_set(object, "seeds", seeds);
	kl_json_set_int(object, "cases", count_cases(inquiry));
	kl_json_set_int(object, "calls", inquiry->calls);
	kl_json_set_int(object, "elements", inquiry->elements);
	/* infinite if no error at all was allowed */
	kl_json_set_int(object, "margin_ppm", ppm < 1e15 ? (int64_t)ceil(ppm) : 1000000000000000);
	if (json_array_size(notes))
		kl_json_set(object, "notes", json_incref(notes));
	if (inquiry->failure)
		kl_json_set(object, "failure", json_incref(inquiry->failure));
	kl_json_set(result, "correct", object);
	if (!inquiry->class)
		return;
	kl_json_set_str(result, "status", "fail");
	kl_json_set_str(result, "class", inquiry->class);
	kl_json_set_str(result, "message", inquiry->message);
}

int kl_stage_correct(json_t *result, const struct kl_job *job, struct kl_pool *pool)
{
	KL_AUTO(kl_inquiry_release) struct kl_inquiry inquiry = { .pool = NULL };
	KL_AUTO(json_decrefp) json_t *notes = json_array();
	int err;

	if (!job->candidate_so)
		return kl_error(KL_EINVALID, "the job names no candidate to judge");
	kl_inquiry_init(&inquiry, job, pool, 2 * kl_pool_size(pool) + SOAK_CALLS + SOAK_MORE);
	err = all_points(&inquiry, notes);
	if (err < 0)
		return err;
	kl_retrial(&inquiry, notes);
	report_inquiry(result, &inquiry, notes);
	return 0;
}
