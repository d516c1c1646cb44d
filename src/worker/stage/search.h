/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_SEARCH_H
#define KL_WORKER_STAGE_SEARCH_H

#include "worker/pool/drawn.h"
#include "worker/stage/inquiry.h"

/*
 * search - judges the candidate at points that are drawn in the contract's domain.
 *
 * They are drawn for this run alone (pool/drawn.h), and so are most of the values there
 * (pool/further.h). A pool of their own has the answers. Of each pair of points, the smaller one
 * comes after a call at the larger one, in the same process: a kernel must keep nothing of it.
 *
 *	KL_AUTO(kl_search_release) struct kl_search search = { 0 };
 *
 *	err = kl_search_run(&search, &listed, notes);
 *	search.inquiry.class	as in inquiry.h
 */
struct kl_search {
	struct kl_drawn drawn;
	struct kl_pool *pool;
	struct kl_inquiry inquiry; /* its pool is NULL if nothing could be drawn */
};

/** Draw points in the domain of the job of `listed`, if it has one, and judge the candidate there. */
int kl_search_run(struct kl_search *search, const struct kl_inquiry *listed, json_t *notes);
void kl_search_release(struct kl_search *search);

/* Prefix of failures at the smaller point of a pair. */
#define KL_SEARCH_AFTER "after a call at a larger point: "

/** Judge the candidate at the drawn points of the inquiry's own job. */
int kl_search_points(struct kl_inquiry *inquiry);
/** The member that is called first where `pt` is the smaller point of a pair; KL_POOL_NONE: none. */
size_t kl_search_before(const struct kl_inquiry *inquiry, const struct kl_point *pt);

#endif
