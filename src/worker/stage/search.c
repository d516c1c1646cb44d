/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/stage/search.h"

#include <signal.h>
#include <stdio.h>

#include "base/error.h"
#include "base/par.h"
#include "base/rng.h"
#include "worker/measure/blocks.h"

/*
 * Once the calls at a point have cost this much, a round skips all its calls but the first. The
 * cost is an estimate: the number of calls times the lowest cost of a call.
 */
#define POINT_NS ((int64_t)20000000000)

/* The calls at one point. */
struct calls {
	struct kl_inquiry *inquiry;
	const struct kl_point *point;
	size_t *member; /* indices into the pool, the noise draw first and last */
	bool *side;     /* the guard side of each call */
	size_t n;
	size_t *left; /* number of skipped calls at all points */
};

static void calls_release(struct calls *calls)
{
	free(calls->member);
	free(calls->side);
}

static bool leave_slow(const void *ctx, size_t i)
{
	const struct calls *calls = ctx;
	size_t at = (size_t)(calls->point - calls->inquiry->job->point);
	bool leave = i && calls->inquiry->cost[at] * calls->inquiry->made[at] > POINT_NS;

	*calls->left += leave;
	return leave;
}

/*
 * Draw the order of the calls: the noise draw, then all other members, each on a random guard side,
 * then the noise draw on the other side.
 */
static void calls_init(struct calls *calls, struct kl_inquiry *inquiry, const struct kl_point *pt,
		       size_t *left)
{
	struct kl_key key = kl_key_derive(&inquiry->order, pt->id);
	size_t most = kl_pool_size(inquiry->pool);
	struct kl_rng rng;

	*calls = (struct calls){ .inquiry = inquiry, .point = pt, .left = left };
	calls->member = kl_calloc(most + 1, sizeof(*calls->member));
	calls->side = kl_calloc(most + 1, sizeof(*calls->side));
	kl_rng_key(&rng, &key, 0);
	for (size_t i = 0; i < most; i++)
		if (kl_pool_get(inquiry->pool, i)->point == pt)
			calls->member[calls->n++] = i;
	if (!calls->n)
		return;
	kl_rng_shuffle(&rng, calls->member + 1, calls->n - 1, sizeof(*calls->member));
	for (size_t i = 0; i < calls->n; i++)
		calls->side[i] = kl_rng_below(&rng, 2);
	calls->member[calls->n] = calls->member[0];
	calls->side[calls->n++] = !calls->side[0];
}

size_t kl_search_before(const struct kl_inquiry *inquiry, const struct kl_point *pt)
{
	size_t at = (size_t)(pt - inquiry->job->point);

	for (size_t i = 0; at % 2 && i < kl_pool_size(inquiry->pool); i++)
		if (kl_pool_get(inquiry->pool, i)->point == pt - 1)
			return i;
	return KL_POOL_NONE;
}

/*
 * Make all calls at one point. A kernel in C gets them in one process; at the smaller point of a
 * pair, this process is first called at the larger point. On a GPU there are two rounds, since a
 * round has one guard side; all points share one process there anyway.
 */
static int run_calls(struct calls *calls)
{
	struct kl_inquiry *inquiry = calls->inquiry;
	bool mixed = inquiry->job->surface == KL_SURFACE_C;
	size_t before = mixed ? kl_search_before(inquiry, calls->point) : KL_POOL_NONE;
	struct kl_round round = {
		.point = calls->point,
		.member = calls->member,
		.n = calls->n,
		.right = mixed && calls->n ? calls->side[0] : false,
		.side = mixed ? calls->side : NULL,
		.before = before == KL_POOL_NONE ? NULL : &before,
		.where = before == KL_POOL_NONE ? "" : KL_SEARCH_AFTER,
		.leave = leave_slow,
		.ctx = calls,
	};
	int err = calls->n ? kl_inquiry_round(inquiry, &round) : 0;

	if (mixed || err < 0 || inquiry->class || !calls->n)
		return err;
	round.right = true;
	round.n = calls->n / 2;
	return kl_inquiry_round(inquiry, &round);
}

int kl_search_points(struct kl_inquiry *inquiry)
{
	size_t left = 0;
	int err = 0;

	for (size_t i = 0; i < inquiry->job->npoint && err == 0 && !inquiry->class; i++) {
		KL_AUTO(calls_release) struct calls calls = { .member = NULL };

		calls_init(&calls, inquiry, &inquiry->job->point[i], &left);
		err = run_calls(&calls);
	}
	if (left)
		snprintf(inquiry->doubt, sizeof(inquiry->doubt),
			 "too slow at points drawn in the domain, so there was no time for %zu "
			 "calls",
			 left);
	return err;
}

/* -- drawing the points ------------------------------------------------------- */

static int draw_points(void *ctx)
{
	struct kl_search *search = ctx;
	struct kl_key master, key;
	int err;

	kl_key_master(&master, search->job->seed);
	key = kl_key_derive(&master, "points");
	err = kl_drawn_make(&search->drawn, search->job, search->listed, &key);
	if (err < 0 || !search->drawn.job.npoint)
		return err;
	err = kl_pool_make_own(&search->pool, &search->drawn.job, &search->stop);
	return err < 0 ? kl_error_in(err, "at a point drawn from the domain") : 0;
}

static void *run_task(void *ctx)
{
	kl_tasks_run(ctx, 1);
	return NULL;
}

void kl_search_begin(struct kl_search *search, const struct kl_job *job, const struct kl_pool *pool)
{
	sigset_t all, before;

	if (!job->domain || !job->domain->n)
		return;
	search->job = job;
	search->listed = pool;
	search->task = (struct kl_task){ .run = draw_points, .ctx = search };
	if (job->surface != KL_SURFACE_C || kl_par_width() < 2)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	search->running = !pthread_create(&search->thread, NULL, run_task, &search->task);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Wait for the thread, or draw the points now if there is none. */
static int take_points(struct kl_search *search)
{
	if (search->running)
		pthread_join(search->thread, NULL);
	else
		kl_tasks_run(&search->task, 1);
	search->running = false;
	return kl_task_result(&search->task);
}

void kl_search_stop(struct kl_search *search)
{
	atomic_store(&search->stop, true);
	if (search->running)
		pthread_join(search->thread, NULL);
	search->running = false;
}

/* -- judging at the drawn points ------------------------------------------------ */

int kl_search_run(struct kl_search *search, const struct kl_inquiry *listed, json_t *notes)
{
	int err;

	if (!search->job)
		return 0;
	err = take_points(search);
	if (err < 0)
		return err;
	if (search->drawn.job.npoint < KL_DRAWN_POINTS)
		kl_blocks_note(notes,
			       "only %zu of %d points could be drawn, because the domain has "
			       "hardly any others at which the oracle is fast enough",
			       search->drawn.job.npoint, KL_DRAWN_POINTS);
	if (!search->pool)
		return 0;
	kl_inquiry_init(&search->inquiry, &search->drawn.job, search->pool);
	search->inquiry.cpu = search->inquiry.redraw.cpu = listed->cpu;
	search->inquiry.redraw.stage = listed->redraw.stage;
	return kl_search_points(&search->inquiry);
}

void kl_search_release(struct kl_search *search)
{
	kl_search_stop(search);
	kl_tasks_release(&search->task, 1);
	if (search->inquiry.pool)
		kl_inquiry_release(&search->inquiry);
	if (search->pool)
		kl_pool_free(search->pool);
	kl_drawn_release(&search->drawn);
}
