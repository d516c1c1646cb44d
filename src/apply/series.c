/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/series.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* A step, and the index of its lineage among the lineages of the list. */
struct placed_step {
	struct kl_series_step step;
	uint32_t place;
};

struct placed_steps {
	struct placed_step *v;
	size_t n, alloc;
	uint32_t lineage[KL_SERIES_LINEAGES]; /* numbers of strings */
	uint32_t nlineage;
};

/* Return the index of a lineage, or KL_SERIES_LINEAGES if the list is full and does not have it. */
static uint32_t place_lineage(struct placed_steps *steps, uint32_t lineage)
{
	uint32_t i = 0;

	while (i < steps->nlineage && steps->lineage[i] != lineage)
		i++;
	if (i == steps->nlineage && i < KL_SERIES_LINEAGES)
		steps->lineage[steps->nlineage++] = lineage;
	return i;
}

static void add_steps(struct placed_steps *steps, const struct kl_index *ix, size_t card, size_t at)
{
	const struct kl_index_list list = kl_index_card(ix, card)->evidence;
	const uint32_t *item = kl_index_items(ix, list);

	for (size_t i = 0; i + 1 < list.n; i += 2) {
		uint32_t place = place_lineage(steps, item[i]);

		if (place == KL_SERIES_LINEAGES)
			continue;
		KL_GROW(steps->v, steps->n + 1, steps->alloc);
		steps->v[steps->n++] = (struct placed_step){
			.step = { .lineage = kl_index_string(ix, item[i]),
				  .number = strtoll(kl_index_string(ix, item[i + 1]), NULL, 10),
				  .at = at },
			.place = place,
		};
	}
}

static int by_place(const void *left, const void *right)
{
	const struct placed_step *x = left, *y = right;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (x->step.number != y->step.number)
		return x->step.number < y->step.number ? -1 : 1;
	return x->step.at < y->step.at ? -1 : x->step.at > y->step.at;
}

void kl_series_list(struct kl_series *out, const struct kl_index *ix,
		    const struct kl_retrieval *retrieval, size_t cards)
{
	struct placed_steps steps = { 0 };

	*out = (struct kl_series){ 0 };
	for (size_t i = 0; i < retrieval->n && i < cards; i++)
		add_steps(&steps, ix, retrieval->v[i].card, i);
	if (steps.n)
		qsort(steps.v, steps.n, sizeof(*steps.v), by_place);
	for (size_t i = 0; i < steps.n; i++) {
		KL_GROW(out->v, out->n + 1, out->alloc);
		out->v[out->n++] = steps.v[i].step;
	}
	free(steps.v);
}

void kl_series_release(struct kl_series *series)
{
	free(series->v);
	*series = (struct kl_series){ 0 };
}

int kl_series_find_way(struct kl_carrier_try *try, const struct kl_series_step *step)
{
	for (size_t i = 0; i < try->card->evidence.n; i++) {
		const struct kl_card_evidence *evidence = &try->card->evidence.v[i];

		if (evidence->step == step->number && evidence->lineage && evidence->event &&
		    !strcmp(evidence->lineage, step->lineage))
			return kl_carrier_find_diff(&try->variant, try->card, try->state,
						    evidence->event);
	}
	return kl_error(KL_ENO, "the card was not learned from step %lld of '%s'",
			(long long)step->number, step->lineage);
}
