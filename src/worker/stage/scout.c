/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/stage/scout.h"

#include "base/mem.h"

#define POINTS 3

/* List the indices of the points that are not timed, the smallest first. Return their number. */
static size_t untimed_points(size_t *order, const struct kl_job *job)
{
	size_t n = 0;

	kl_job_order_points(order, job);
	for (size_t i = 0; i < job->npoint; i++)
		if (!job->point[order[i]].perf)
			order[n++] = order[i];
	return n;
}

static int call_once(struct kl_inquiry *inquiry, const struct kl_point *pt)
{
	const struct kl_member *member;
	size_t index;
	struct kl_round round = {
		.point = pt,
		.member = &index,
		.n = 1,
		.unjudged = true,
		.where = "",
	};

	if (!kl_pool_noise(inquiry->pool, pt, &member, 1))
		return 0;
	index = kl_pool_find(inquiry->pool, member);
	return kl_inquiry_round(inquiry, &round);
}

int kl_scout(struct kl_inquiry *inquiry)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(inquiry->job->npoint + 1, sizeof(*order));
	size_t n = untimed_points(order, inquiry->job), last = n > POINTS ? n - 1 : POINTS - 1;
	int err = 0;

	for (size_t i = 0; i < n && i < POINTS && err == 0 && !inquiry->class; i++)
		err = call_once(inquiry, &inquiry->job->point[order[i * last / (POINTS - 1)]]);
	return err;
}
