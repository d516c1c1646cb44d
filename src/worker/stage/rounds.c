/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/stage/rounds.h"

#include <string.h>

#include "worker/stage/schedule.h"

/*
 * A process can first be called at another point if a call there costs at most BEFORE_NS or, in the
 * process for the point inquiry->after_perf, at most BEFORE_ONCE_NS.
 */
#define BEFORE_NS 20000000
#define BEFORE_ONCE_NS 500000000

/* -- a first call at another point ----------------------------------------------- */

/*
 * Choose a member at a larger point to be called first; if schedule->point is inquiry->after_perf,
 * one at a larger performance point. Only points at which there were calls are considered, since
 * their cost is known. Return false if no such point is cheap enough.
 */
static bool choose_before(size_t *out, struct kl_schedule *schedule)
{
	const struct kl_inquiry *inquiry = schedule->inquiry;
	int64_t own = kl_job_point_elements(inquiry->job, schedule->point);
	bool perf = inquiry->after_perf == schedule->point;
	size_t found = 0;

	for (size_t i = 0; !kl_schedule_is_one_sided(schedule) && i < kl_pool_size(inquiry->pool);
	     i++) {
		const struct kl_point *pt = kl_pool_get(inquiry->pool, i)->point;
		int64_t cost = inquiry->cost[pt - inquiry->job->point];

		if (pt == schedule->point || !cost || (perf && !pt->perf) ||
		    cost > (perf ? BEFORE_ONCE_NS : BEFORE_NS) ||
		    kl_job_point_elements(inquiry->job, pt) <= own)
			continue;
		if (kl_rng_below(&schedule->rng, ++found) == 0)
			*out = i;
	}
	return found > 0;
}

/* -- points that are not timed ---------------------------------------------- */

/*
 * Order the members: the first noise draw, its twin, then all others in random order. Thus, if
 * there is no time for all members, each run calls a different selection.
 */
static void draw_order(struct kl_schedule *schedule)
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

/*
 * Return true to skip call `i`. The last call, schedule->n, is one more call with the first member.
 */
static bool leave_also(const void *ctx, size_t i)
{
	const struct kl_schedule *schedule = ctx;
	enum kl_saving now = kl_schedule_saving(schedule);

	if (now == KL_SAVING_NONE)
		return false;
	if (i == schedule->n)
		return now == KL_SAVING_LEAST || schedule->first;
	return i % schedule->step != schedule->first ||
	       (now == KL_SAVING_LEAST && i >= kl_schedule_affordable(schedule));
}

static bool leave_backward(const void *ctx, size_t i)
{
	const struct kl_schedule *schedule = ctx;

	return kl_schedule_saving(schedule) != KL_SAVING_NONE && i + 1 < schedule->n;
}

/*
 * Call the kernel with the inputs that were skipped because calls first seemed slower than they
 * are.
 */
static int catch_up(struct kl_schedule *schedule, struct kl_round round)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(schedule->n + 1, sizeof(*order));

	round.leave = NULL;
	round.right = false;
	round.side = NULL;
	round.member = order;
	round.n = 0;
	for (size_t i = 0; i < schedule->n && kl_schedule_saving(schedule) != KL_SAVING_LEAST; i++)
		if (!kl_inquiry_passed(schedule->inquiry, schedule->all[i]))
			order[round.n++] = schedule->all[i];
	return round.n ? kl_inquiry_round(schedule->inquiry, &round) : 0;
}

/*
 * Make the calls in three children. The first is called with every member and then with the first
 * member again. The second gets the same calls with the guard sides exchanged. The third is called
 * with all members in reverse order, after a call at a larger point if one is cheap enough. If
 * calls are slow, the first child gets every second member, the second child the other members, and
 * the third child only the first member.
 */
static int also_rounds(struct kl_schedule *schedule)
{
	struct kl_inquiry *inquiry = schedule->inquiry;
	KL_AUTO(kl_freep) size_t *order = kl_calloc(schedule->n + 1, sizeof(*order));
	KL_AUTO(kl_freep) bool *side = kl_calloc(schedule->n + 1, sizeof(*side));
	struct kl_round round = {
		.point = schedule->point,
		.member = order,
		.n = schedule->n + 1,
		.side = kl_schedule_is_one_sided(schedule) ? NULL : side,
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
	KL_AUTO(kl_schedule_release) struct kl_schedule schedule = { .all = NULL };
	int err;

	*left = (struct kl_rounds_left){ .further = false };
	kl_schedule_init(&schedule, inquiry, pt);
	if (!schedule.n)
		return 0;
	draw_order(&schedule);
	err = also_rounds(&schedule);
	kl_schedule_left(left, &schedule);
	return err;
}
