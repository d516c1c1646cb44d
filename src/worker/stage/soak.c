/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/stage/soak.h"

#include <stdio.h>

#include "base/rng.h"
#include "worker/measure/blocks.h"

/*
 * Number of calls: CALLS, plus a random number below MORE that no kernel can foresee; if a call
 * costs less than CHEAP_NS, MANY plus a random number below MANY_MORE.
 */
#define CALLS 50
#define MORE 16
#define MANY 150
#define MANY_MORE 100
#define CHEAP_NS 500000
/*
 * Maximum processor time of a soak: SOAK_NS for CALLS calls at an expensive point, MOST_NS for all
 * calls at the cheapest point.
 */
#define SOAK_NS ((int64_t)500000000)
#define MOST_NS ((int64_t)60000000000)

/* The calls of one process. */
struct soak {
	size_t *member;   /* pool indices, in order */
	bool *side;       /* guard side of each call; true for right */
	size_t n, before; /* before: member at another point to call first, or KL_POOL_NONE */
};

static void soak_release(struct soak *soak)
{
	free(soak->member);
	free(soak->side);
}

static size_t cheapest_point(const struct kl_inquiry *inquiry)
{
	size_t best = 0;

	for (size_t at = 1; at < inquiry->job->npoint; at++)
		if (inquiry->cost[at] < inquiry->cost[best])
			best = at;
	return best;
}

/*
 * Return the most expensive point at which there is time for CALLS calls; npoint if there is none.
 */
static size_t dearest_point(const struct kl_inquiry *inquiry)
{
	size_t best = inquiry->job->npoint;

	for (size_t at = 0; at < inquiry->job->npoint; at++)
		if (inquiry->cost[at] <= SOAK_NS / CALLS &&
		    (best == inquiry->job->npoint || inquiry->cost[at] > inquiry->cost[best]))
			best = at;
	return best;
}

/* Draw members at point `pt`, and a member at another, cheap point to be called before them. */
static void draw_calls(struct soak *soak, const struct kl_inquiry *inquiry,
		       const struct kl_point *pt, struct kl_rng *rng)
{
	KL_AUTO(kl_freep)
	size_t *all = kl_calloc(kl_pool_size(inquiry->pool) + 1, sizeof(*all));
	size_t n = 0, others = 0;

	soak->before = KL_POOL_NONE;
	for (size_t i = 0; i < kl_pool_size(inquiry->pool); i++) {
		const struct kl_point *at = kl_pool_get(inquiry->pool, i)->point;

		if (at == pt)
			all[n++] = i;
		else if (inquiry->cost[at - inquiry->job->point] <= SOAK_NS / CALLS &&
			 kl_rng_below(rng, ++others) == 0)
			soak->before = i;
	}
	soak->member = kl_calloc(soak->n + 1, sizeof(*soak->member));
	soak->side = kl_calloc(soak->n + 1, sizeof(*soak->side));
	for (size_t i = 0; i < soak->n; i++) {
		soak->member[i] = all[kl_rng_below(rng, n)];
		soak->side[i] = kl_rng_below(rng, 2);
	}
}

static int soak_point(struct kl_inquiry *inquiry, size_t at, size_t n, struct kl_rng *rng)
{
	KL_AUTO(soak_release) struct soak soak = { .n = n };
	const struct kl_point *pt = &inquiry->job->point[at];
	struct kl_round round = { .point = pt, .n = n, .where = "soak: " };

	draw_calls(&soak, inquiry, pt, rng);
	round.member = soak.member;
	round.side = soak.side;
	round.before = soak.before == KL_POOL_NONE ? NULL : &soak.before;
	return kl_inquiry_round(inquiry, &round);
}

/*
 * Return the number of calls to make at point `at`, the cheapest; 0 if calls are too slow to make
 * KL_SOAK_LEAST of them.
 */
static size_t count_calls(struct kl_inquiry *inquiry, size_t at, struct kl_rng *rng, json_t *notes)
{
	int64_t cost = inquiry->cost[at] > 0 ? inquiry->cost[at] : 1;
	int64_t most = MOST_NS / cost;
	size_t wanted = cost < CHEAP_NS ? MANY + kl_rng_below(rng, MANY_MORE) :
					  CALLS + kl_rng_below(rng, MORE);

	if (most >= (int64_t)wanted)
		return wanted;
	if (most >= KL_SOAK_LEAST) {
		if (most < CALLS)
			kl_blocks_note(notes,
				       "%s: a call takes %.2g s, so the soak made only %lld of "
				       "%d calls in one process",
				       inquiry->job->point[at].id, (double)cost / 1e9,
				       (long long)most, CALLS);
		return (size_t)most;
	}
	snprintf(inquiry->doubt, sizeof(inquiry->doubt),
		 "a call takes %.2g s of processor time or more: too slow to make %d calls in one "
		 "process, which are needed to judge whether later calls are right",
		 (double)cost / 1e9, KL_SOAK_LEAST);
	return 0;
}

int kl_soak(struct kl_inquiry *inquiry, json_t *notes)
{
	struct kl_key key = kl_key_derive(&inquiry->order, "the soak");
	size_t cheapest = cheapest_point(inquiry), dearest = dearest_point(inquiry), n;
	struct kl_rng rng;
	int err;

	if (!inquiry->job->npoint || !inquiry->cost[cheapest])
		return 0;
	kl_rng_key(&rng, &key, 0);
	n = count_calls(inquiry, cheapest, &rng, notes);
	err = n ? soak_point(inquiry, cheapest, n, &rng) : 0;
	if (err == 0 && !inquiry->class && dearest < inquiry->job->npoint &&
	    (dearest != cheapest || !n))
		err = soak_point(inquiry, dearest, CALLS + kl_rng_below(&rng, MORE), &rng);
	return err;
}
