/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/build.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/par.h"
#include "base/tasks.h"
#include "worker/pool/member_bytes.h"

#define SHARES ((size_t)8) /* maximum number of threads at one point */
/* maximum number of bytes that these threads make at the same time */
#define SHARE_BYTES ((size_t)1 << 30)
/* If the oracles take longer than this for one member, a share for each member is worth its start. */
#define DEAR_NS ((int64_t)30000000)

/*
 * Derive the key of a member. Each member has a key of its own, so that nobody can compute one
 * member from another.
 */
static struct kl_key member_key(const struct kl_poolbuild *poolbuild,
				const struct kl_member *member)
{
	bool twin = !strcmp(member->band, KL_POOL_TWIN);
	struct kl_key purpose = kl_key_derive(&poolbuild->key, twin ? "twins" : "inputs");
	char label[128];

	snprintf(label, sizeof(label), "%s/%s/%d", member->point->id, member->band, member->draw);
	return kl_key_derive(&purpose, label);
}

/* -- one point -------------------------------------------------------------- */

/*
 * The members of one point. Several threads, called shares, make them: each takes the next member
 * that no share has taken. The leading share first makes the first member and the twin.
 */
struct making {
	const struct kl_poolbuild *poolbuild;
	size_t first, last, twin; /* members [first, last); twin is SIZE_MAX if none is planned */
	size_t todo;              /* number of them that are not skipped */
	atomic_size_t next;       /* the next member to make */
	atomic_bool failed;
};

struct share {
	struct making *making;
	bool leads;
	int64_t cost; /* see kl_poolbuild.cost; 0 if there are no calls */
	struct kl_oracles oracles;
};

static int make_member(struct share *share, size_t i)
{
	const struct kl_poolbuild *poolbuild = share->making->poolbuild;
	const struct kl_member *member = &poolbuild->member[i];
	struct kl_key key = member_key(poolbuild, member);
	char *base = poolbuild->base + poolbuild->at[i];
	bool made = true;
	int err;

	if (member->further)
		err = kl_poolmake_further(base, poolbuild->job, member, &key, &share->oracles,
					  &made);
	else
		err = kl_poolmake(base, poolbuild->job, member, &key, &share->oracles);
	poolbuild->none[i] = !made;
	return err;
}

/* Make the twin of the first member of a point; the first member has already been made. */
static int make_twin(struct share *share)
{
	const struct kl_poolbuild *poolbuild = share->making->poolbuild;
	size_t i = share->making->first, twin = share->making->twin;
	struct kl_member first = poolbuild->member[i];
	struct kl_key key = member_key(poolbuild, &poolbuild->member[twin]);
	struct kl_poolfile layout;
	bool made;
	int err;

	kl_poolfile_init(&layout, poolbuild->job, &first);
	kl_poolfile_point(&first, &layout, poolbuild->job, poolbuild->base + poolbuild->at[i]);
	err = kl_poolmake_twin(poolbuild->base + poolbuild->at[twin], poolbuild->job,
			       &poolbuild->member[twin], &first, &key, &share->oracles, &made);
	poolbuild->none[twin] = !made;
	return err;
}

static bool is_stopped(const struct kl_poolbuild *poolbuild)
{
	return poolbuild->stop && atomic_load(poolbuild->stop);
}

static bool is_skipped(const struct kl_poolbuild *poolbuild, size_t i)
{
	return poolbuild->skip && poolbuild->skip[i];
}

/* Make the first member, then its twin if one is planned. */
static int make_first(struct share *share)
{
	const struct making *making = share->making;
	int err;

	if (is_skipped(making->poolbuild, making->first))
		return 0;
	err = make_member(share, making->first);
	return err == 0 && making->twin != SIZE_MAX ? make_twin(share) : err;
}

static int make_share(void *ctx)
{
	struct share *share = ctx;
	struct making *making = share->making;
	const struct kl_poolbuild *poolbuild = making->poolbuild;
	int err = is_stopped(poolbuild) ?
			  kl_error(KL_EINTR, "the members of the pool are no longer needed") :
			  kl_oracles_start(&share->oracles, poolbuild->job,
					   poolbuild->member[making->first].point);
	size_t i;

	if (err == 0 && share->leads)
		err = make_first(share);
	while (err == 0 && !is_stopped(poolbuild) && !atomic_load(&making->failed) &&
	       (i = atomic_fetch_add(&making->next, 1)) < making->last)
		if (i != making->twin && !is_skipped(poolbuild, i))
			err = make_member(share, i);
	if (err == 0 && is_stopped(poolbuild))
		err = kl_error(KL_EINTR, "the members of the pool are no longer needed");
	if (err < 0)
		atomic_store(&making->failed, true);
	share->cost = share->oracles.ns[0] + share->oracles.ns[1];
	/* child processes die with the thread that started them, so the thread releases them */
	kl_oracles_release(&share->oracles);
	return err;
}

/* -- all points ------------------------------------------------------------ */

static size_t shares_of(const struct kl_poolbuild *poolbuild, const struct making *making)
{
	const struct kl_point *pt = poolbuild->member[making->first].point;
	bool dear = poolbuild->cost && poolbuild->cost[pt - poolbuild->job->point] > DEAR_NS;
	size_t n = dear ? making->todo : making->todo / 2, room;
	struct kl_poolfile layout;

	/* at a small point, starting the oracles of more threads takes longer than it saves */
	if (!pt->perf || n < 2)
		return 1;
	kl_poolfile_init(&layout, poolbuild->job, &poolbuild->member[making->first]);
	room = SHARE_BYTES / layout.total;
	n = n < SHARES ? n : SHARES;
	n = n < kl_par_width() ? n : kl_par_width();
	return n < room ? n : room ? room : 1;
}

struct plan {
	struct making *making;
	struct share *share;
	struct kl_task *task;
	size_t nmaking, nshare;
};

static void plan_release(struct plan *plan)
{
	kl_tasks_release(plan->task, plan->nshare);
	free(plan->making);
	free(plan->share);
	free(plan->task);
}

static void plan_points(struct plan *plan, const struct kl_poolbuild *poolbuild)
{
	plan->making = kl_calloc(poolbuild->n + 1, sizeof(*plan->making));
	for (size_t i = 0; i < poolbuild->n; i++) {
		struct making *making = plan->nmaking ? &plan->making[plan->nmaking - 1] : NULL;

		if (!making ||
		    poolbuild->member[i].point != poolbuild->member[making->first].point) {
			making = &plan->making[plan->nmaking++];
			*making = (struct making){ .poolbuild = poolbuild,
						   .first = i,
						   .twin = SIZE_MAX };
			atomic_store(&making->next, i + 1);
		}
		making->last = i + 1;
		making->todo += !is_skipped(poolbuild, i);
		if (!strcmp(poolbuild->member[i].band, KL_POOL_TWIN))
			making->twin = i;
	}
}

static void plan_shares(struct plan *plan, const struct kl_poolbuild *poolbuild)
{
	bool alone = poolbuild->job->surface == KL_SURFACE_CUDA;

	plan->share = kl_calloc(SHARES * plan->nmaking + 1, sizeof(*plan->share));
	plan->task = kl_calloc(SHARES * plan->nmaking + 1, sizeof(*plan->task));
	for (size_t i = 0; i < plan->nmaking; i++) {
		size_t n = !plan->making[i].todo ? 0 :
			   alone                 ? 1 :
						   shares_of(poolbuild, &plan->making[i]);

		for (size_t k = 0; k < n; k++) {
			plan->share[plan->nshare] = (struct share){ .making = &plan->making[i],
								    .leads = k == 0 };
			plan->task[plan->nshare] = (struct kl_task){
				.run = make_share, .ctx = &plan->share[plan->nshare]
			};
			plan->nshare++;
		}
	}
}

static int run_shares(struct plan *plan, const struct kl_poolbuild *poolbuild)
{
	int err = 0;

	if (poolbuild->job->surface == KL_SURFACE_CUDA) {
		for (size_t i = 0; i < plan->nshare && err == 0; i++)
			err = make_share(&plan->share[i]);
		return err;
	}
	kl_tasks_run(plan->task, plan->nshare);
	for (size_t i = 0; i < plan->nshare && err == 0; i++)
		err = kl_task_result(&plan->task[i]);
	return err;
}

int kl_poolbuild(const struct kl_poolbuild *poolbuild)
{
	KL_AUTO(plan_release) struct plan plan = { .nshare = 0 };
	int err;

	plan_points(&plan, poolbuild);
	plan_shares(&plan, poolbuild);
	err = run_shares(&plan, poolbuild);
	for (size_t i = 0; i < plan.nshare && poolbuild->cost; i++) {
		const struct kl_point *pt = poolbuild->member[plan.share[i].making->first].point;
		int64_t *cost = &poolbuild->cost[pt - poolbuild->job->point];

		if (plan.share[i].cost && (!*cost || plan.share[i].cost < *cost))
			*cost = plan.share[i].cost;
	}
	return err;
}
