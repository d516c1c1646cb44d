/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/yardsticks.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "worker/pool/pool.h"

void kl_yardsticks_release(struct kl_yardsticks *yardsticks)
{
	for (size_t i = 0; i < yardsticks->n; i++) {
		for (size_t rule = 0; rule < yardsticks->job->nrule; rule++)
			kl_yardstick_release(&yardsticks->band[i].rule[rule]);
		free(yardsticks->band[i].rule);
	}
	free(yardsticks->band);
	*yardsticks = (struct kl_yardsticks){ .job = yardsticks->job };
}

static struct kl_yardsticks_band *find_band(const struct kl_yardsticks *yardsticks,
					    const struct kl_point *pt, const char *name)
{
	for (size_t i = yardsticks->n; i-- > 0;)
		if (yardsticks->band[i].point == pt && !strcmp(yardsticks->band[i].band, name))
			return &yardsticks->band[i];
	return NULL;
}

static struct kl_yardsticks_band *add_band(struct kl_yardsticks *yardsticks,
					   const struct kl_member *member)
{
	const struct kl_job *job = yardsticks->job;
	struct kl_yardsticks_band *band;

	KL_GROW(yardsticks->band, yardsticks->n + 1, yardsticks->alloc);
	band = &yardsticks->band[yardsticks->n++];
	*band = (struct kl_yardsticks_band){ .point = member->point };
	snprintf(band->band, sizeof(band->band), "%s", member->band);
	band->rule = kl_calloc(job->nrule + 1, sizeof(*band->rule));
	for (size_t rule = 0; rule < job->nrule; rule++)
		kl_yardstick_init(&band->rule[rule], job, rule, member->point);
	return band;
}

void kl_yardsticks_add(struct kl_yardsticks *yardsticks, const struct kl_member *member,
		       const struct kl_tolerance *tolerance)
{
	struct kl_yardsticks_band *band;

	if (member->exact || member->further || !strcmp(member->band, KL_POOL_TWIN))
		return;
	band = find_band(yardsticks, member->point, member->band);
	band = band ? band : add_band(yardsticks, member);
	for (size_t rule = 0; rule < yardsticks->job->nrule; rule++)
		kl_yardstick_add(&band->rule[rule], &tolerance[rule]);
}

void kl_yardsticks_finish(struct kl_yardsticks *yardsticks)
{
	for (size_t i = 0; i < yardsticks->n; i++)
		for (size_t rule = 0; rule < yardsticks->job->nrule; rule++)
			kl_yardstick_finish(&yardsticks->band[i].rule[rule]);
}

bool kl_yardsticks_settled(const struct kl_yardsticks *yardsticks, const struct kl_point *pt,
			   double least)
{
	const struct kl_yardsticks_band *band = find_band(yardsticks, pt, "noise");
	bool settled = true;

	for (size_t rule = 0; band && rule < yardsticks->job->nrule; rule++)
		settled = settled && kl_yardstick_is_settled(&band->rule[rule], least);
	return settled;
}

const struct kl_yardstick *kl_yardsticks_find(const struct kl_yardsticks *yardsticks,
					      const struct kl_member *member, size_t index)
{
	bool twin = !strcmp(member->band, KL_POOL_TWIN);
	const struct kl_yardsticks_band *band = find_band(yardsticks, member->point,
							  twin ? "noise" : member->band);
	const struct kl_yardstick *noise;

	if (member->exact)
		return NULL;
	if (band && band->rule[index].ngroup && band->rule[index].n > 1)
		return &band->rule[index];
	band = find_band(yardsticks, member->point, "noise");
	noise = band ? &band->rule[index] : NULL;
	return noise && noise->ngroup && noise->n > 1 && noise->relative &&
			       noise->freedom < KL_YARDSTICK_FREE ?
		       noise :
		       NULL;
}
