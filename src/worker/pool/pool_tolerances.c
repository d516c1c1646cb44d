/* SPDX-License-Identifier: Apache-2.0 */
/* pool_tolerances - computes the tolerances of a pool from its honest answers */
#include <string.h>

#include "base/mem.h"
#include "worker/compare/tolerance.h"
#include "worker/pool/members.h"
#include "worker/pool/pool_parts.h"

#define VANISHING 0x1p-20 /* a truth below this share of the noise band's counts as zero */

static void free_tolerances(struct kl_tolerance *tolerance, size_t n)
{
	for (size_t rule = 0; tolerance && rule < n; rule++)
		kl_tolerance_release(&tolerance[rule]);
	free(tolerance);
}

void kl_pool_free_tolerances(const struct kl_member *member, size_t nrule)
{
	free_tolerances((struct kl_tolerance *)member->tolerance, nrule);
}

/*
 * Compute a member's own tolerances and add them to the yardsticks; spare draws do not keep them.
 */
static int measure_member(struct kl_pool *pool, size_t i)
{
	const struct kl_job *job = pool->job;
	struct kl_tolerance *tolerance;
	int err = 0;

	if (pool->none[i] || pool->measured[i])
		return 0;
	tolerance = kl_calloc(job->nrule + 1, sizeof(*tolerance));
	for (size_t rule = 0; rule < job->nrule && err == 0; rule++)
		err = kl_tolerance_make(&tolerance[rule], job, rule, &pool->member[i]);
	if (err == 0)
		kl_yardsticks_add(&pool->yardsticks, &pool->member[i], tolerance);
	pool->measured[i] = err == 0;
	if (err == 0 && !kl_members_is_spare(&pool->member[i]))
		pool->member[i].tolerance = tolerance;
	else
		free_tolerances(tolerance, job->nrule);
	return err;
}

int kl_pool_measure(struct kl_pool *pool)
{
	int err = 0;

	for (size_t i = 0; i < pool->n && err == 0; i++)
		err = measure_member(pool, i);
	kl_yardsticks_finish(&pool->yardsticks);
	return err;
}

void kl_pool_forget(struct kl_pool *pool)
{
	for (size_t i = 0; i < pool->n; i++) {
		free_tolerances((struct kl_tolerance *)pool->member[i].tolerance, pool->nrule);
		pool->member[i].tolerance = NULL;
		pool->measured[i] = false;
	}
	kl_yardsticks_release(&pool->yardsticks);
}

void kl_pool_set_yardsticks(struct kl_pool *pool, const struct kl_yardsticks *yardsticks)
{
	for (size_t i = 0; i < pool->n; i++) {
		struct kl_tolerance *tolerance = (struct kl_tolerance *)pool->member[i].tolerance;

		for (size_t rule = 0; tolerance && rule < pool->job->nrule; rule++)
			tolerance[rule].yardstick = kl_yardsticks_find(yardsticks, &pool->member[i],
								       rule);
	}
}

static const struct kl_member *first_noise(const struct kl_pool *pool, const struct kl_point *pt)
{
	for (size_t i = 0; i < pool->n; i++)
		if (pool->member[i].point == pt && !strcmp(pool->member[i].band, "noise"))
			return &pool->member[i];
	return NULL;
}

bool kl_pool_vanishes(const struct kl_pool *pool, const struct kl_member *member)
{
	const struct kl_member *noise = member->further ? first_noise(pool, member->point) : NULL;

	for (size_t rule = 0; noise && rule < pool->job->nrule; rule++) {
		const struct kl_tolerance *own = &member->tolerance[rule];
		const struct kl_tolerance *usual = &noise->tolerance[rule];

		/*
		 * zeros in an input give zeros without rounding; only in the band `constant` do
		 * sums cancel
		 */
		if (!own->yardstick || strcmp(member->band, "constant"))
			continue;
		for (size_t i = 0; i < own->ngroup; i++)
			if (own->size[i] < VANISHING * usual->size[i])
				return true;
	}
	return false;
}
