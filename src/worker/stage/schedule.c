/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/stage/schedule.h"

/*
 * Time for the calls at one point. If all calls would take longer, each input is called only once.
 * At a performance point only the third noise draw (rounds_perf.c) can be skipped, however slow the
 * kernel is.
 */
#define POINT_NS ((int64_t)3000000000)
/*
 * At a point that is not timed, inputs are skipped if calling each input once would take longer
 * than MOST_NS (cuda: POINT_NS).
 */
#define MOST_NS ((int64_t)60000000000)

void kl_schedule_release(struct kl_schedule *schedule)
{
	free(schedule->all);
	free(schedule->side);
}

static bool is_twin(const struct kl_inquiry *inquiry, size_t index)
{
	const struct kl_member *member = kl_pool_get(inquiry->pool, index);

	return member == kl_pool_twin(inquiry->pool, member->point);
}

void kl_schedule_init(struct kl_schedule *schedule, struct kl_inquiry *inquiry,
		      const struct kl_point *pt)
{
	struct kl_key key = kl_key_derive(&inquiry->order, pt->id);
	size_t size = kl_pool_size(inquiry->pool), twin = SIZE_MAX;

	*schedule = (struct kl_schedule){ .inquiry = inquiry, .point = pt, .spare = SIZE_MAX };
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

/* -- cost of calls --------------------------------------------------------- */

int64_t kl_schedule_cost(const struct kl_schedule *schedule)
{
	return schedule->inquiry->cost[schedule->point - schedule->inquiry->job->point];
}

/* Estimate the number of calls that are made if none is skipped. */
static size_t full_size(const struct kl_schedule *schedule)
{
	return schedule->point->perf ? schedule->n + 14 : 3 * schedule->n + 2;
}

static int64_t most_ns(const struct kl_schedule *schedule)
{
	return kl_schedule_is_one_sided(schedule) ? POINT_NS : MOST_NS;
}

enum kl_saving kl_schedule_saving(const struct kl_schedule *schedule)
{
	if (kl_schedule_cost(schedule) * (int64_t)full_size(schedule) <= POINT_NS)
		return KL_SAVING_NONE;
	return schedule->point->perf || kl_schedule_cost(schedule) * (int64_t)(schedule->n + 2) <=
						most_ns(schedule) ?
		       KL_SAVING_LEAN :
		       KL_SAVING_LEAST;
}

size_t kl_schedule_affordable(const struct kl_schedule *schedule)
{
	int64_t cost = kl_schedule_cost(schedule), n = most_ns(schedule) / (cost ? cost : 1) - 1;

	return n < 2 ? 2 : (size_t)n;
}

void kl_schedule_left(struct kl_rounds_left *left, const struct kl_schedule *schedule)
{
	*left = (struct kl_rounds_left){ .further = kl_schedule_saving(schedule) !=
						    KL_SAVING_NONE };
	for (size_t i = 0; i < schedule->n; i++)
		if (kl_inquiry_passed(schedule->inquiry, schedule->all[i]))
			left->asked++;
	left->members = schedule->n - left->asked;
}
