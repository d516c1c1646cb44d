/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_SEARCH_H
#define KL_WORKER_STAGE_SEARCH_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/tasks.h"
#include "worker/pool/drawn.h"
#include "worker/stage/inquiry.h"

/*
 * search - judges the candidate at points that are drawn in the contract's domain.
 *
 * The points are drawn for this run alone (pool/drawn.h), and so are the inputs at them, many with
 * values beyond those of the contract (pool/further.h); search.pool has the answers. Points come in
 * pairs, the larger point first. The process that is called at the smaller point is first called at
 * the larger point, to find kernels that keep something from the first call.
 *
 *	KL_AUTO(kl_search_release) struct kl_search search = { 0 };
 *
 *	kl_search_begin(&search, job, pool);	draws points and inputs in a thread
 *	err = kl_search_run(&search, &listed, notes);
 *	search.inquiry.class	as in inquiry.h
 */
struct kl_search {
	const struct kl_job *job;
	const struct kl_pool *listed; /* the pool of the listed points */
	pthread_t thread;
	bool running;        /* the thread runs `task` */
	atomic_bool stop;    /* tells the thread to give up */
	struct kl_task task; /* draws the points and makes their pool */
	struct kl_drawn drawn;
	struct kl_pool *pool;
	struct kl_inquiry inquiry; /* inquiry.pool is NULL if no point could be drawn */
};

/**
 * If the job has a domain, draw points in it and make their pool. For a kernel in C, a thread does
 * this while the candidate is judged at the listed points; nothing is timed meanwhile.
 */
void kl_search_begin(struct kl_search *search, const struct kl_job *job,
		     const struct kl_pool *pool);
/** Stop the thread of the search if it is still running. */
void kl_search_stop(struct kl_search *search);
/** Judge the candidate at the points that kl_search_begin() draws. */
int kl_search_run(struct kl_search *search, const struct kl_inquiry *listed, json_t *notes);
void kl_search_release(struct kl_search *search);

/* Prefix of failure messages at the smaller point of a pair. */
#define KL_SEARCH_AFTER "after a call at a larger point: "

/** Judge the candidate at the points of the inquiry's job, all of which must be drawn. */
int kl_search_points(struct kl_inquiry *inquiry);
/**
 * Return the pool index of the member that is called before the calls at `pt`: if `pt` is the
 * smaller point of a pair, a member at the larger point, otherwise KL_POOL_NONE.
 */
size_t kl_search_before(const struct kl_inquiry *inquiry, const struct kl_point *pt);

#endif
