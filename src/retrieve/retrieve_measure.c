/* SPDX-License-Identifier: Apache-2.0 */
/* retrieve_measure - similarities of all cards to a target, on all processors */
#include <string.h>

#include "base/par.h"
#include "retrieve/retrieve_parts.h"

#define GRAIN 4096

static const char *text_of(const struct kl_asking *asking, uint32_t string)
{
	return kl_index_string(asking->ix, string);
}

/* Similarities and the like, asked for the first time: kept is one more, so that 0 is not asked. */

static int32_t ask_language(struct kl_asking *asking, uint32_t string)
{
	int32_t value = 1 + (int32_t)kl_similarity_language(asking->t->tax, text_of(asking, string),
							    asking->t->language);

	KL_KEEP(asking->language[string], value);
	return value;
}

static int32_t ask_platform(struct kl_asking *asking, uint32_t string)
{
	int32_t value = 1 + (int32_t)kl_similarity_platform(asking->t->tax, text_of(asking, string),
							    asking->t->platform);

	KL_KEEP(asking->platform[string], value);
	return value;
}

static int32_t ask_case(struct kl_asking *asking, uint32_t point)
{
	int32_t value = 1 + (int32_t)kl_similarity_case(asking->t->tax,
							kl_index_point(asking->ix, point),
							&asking->t->point);

	KL_KEEP(asking->point[point], value);
	return value;
}

static int8_t ask_able(struct kl_asking *asking, uint32_t string)
{
	int8_t int8 = kl_capset_has(&asking->t->caps,
				    kl_taxonomy_cap(asking->t->tax, text_of(asking, string))) ?
			      2 :
			      1;

	KL_KEEP(asking->able[string], int8);
	return int8;
}

int8_t kl_asking_has_new(struct kl_asking *asking, uint32_t string)
{
	int8_t int8 = asking->t->prior.n && kl_target_has(asking->t, text_of(asking, string)) ? 2 :
												1;

	KL_KEEP(asking->has[string], int8);
	return int8;
}

static inline int64_t language_of(struct kl_asking *asking, uint32_t string)
{
	int32_t value = KL_KEPT(asking->language[string]);

	return (value ? value : ask_language(asking, string)) - 1;
}

static inline int64_t platform_of(struct kl_asking *asking, uint32_t string)
{
	int32_t value = KL_KEPT(asking->platform[string]);

	return (value ? value : ask_platform(asking, string)) - 1;
}

static inline int64_t case_of(struct kl_asking *asking, uint32_t point)
{
	int32_t value = KL_KEPT(asking->point[point]);

	return (value ? value : ask_case(asking, point)) - 1;
}

static inline bool is_able(struct kl_asking *asking, uint32_t string)
{
	int8_t int8 = KL_KEPT(asking->able[string]);

	return (int8 ? int8 : ask_able(asking, string)) == 2;
}

int64_t kl_measure_lacking(struct kl_asking *asking, uint32_t prior)
{
	struct kl_index_list list = kl_index_prior(asking->ix, prior)->needs;
	const uint32_t *item = kl_index_items(asking->ix, list);

	for (size_t i = 0; i < list.n; i++)
		if (!is_able(asking, item[i]))
			return item[i];
	return -1;
}

static inline void measure_row(int64_t axis[3], struct kl_asking *asking,
			       const struct kl_index_row *row, bool lacks)
{
	axis[KL_AXIS_CASE] = case_of(asking, row->point);
	axis[KL_AXIS_LANGUAGE] = language_of(asking, row->language);
	axis[KL_AXIS_PLATFORM] = lacks ? 0 : platform_of(asking, row->platform);
}

void kl_measure_row(int64_t axis[3], struct kl_asking *asking, size_t card)
{
	const struct kl_index_card *entry = kl_index_card(asking->ix, card);

	memset(axis, 0, 3 * sizeof(*axis));
	if (asking->fit[card].row >= 0)
		measure_row(axis, asking,
			    kl_index_row(asking->ix, entry->rows + (uint32_t)asking->fit[card].row),
			    kl_measure_lacking(asking, entry->prior) >= 0);
}

static void measure_card(struct kl_asking *asking, size_t card)
{
	const struct kl_index_card *entry = kl_index_card(asking->ix, card);
	bool lacks = kl_measure_lacking(asking, entry->prior) >= 0;
	struct kl_fit *fit = &asking->fit[card];
	int64_t most = -1;

	for (uint32_t i = 0; i < entry->nrows; i++) {
		const struct kl_index_row *row = kl_index_row(asking->ix, entry->rows + i);
		int64_t values[3], product;

		/*
		 * what nothing verifies is asked for by its status, and then compared by all it has
		 */
		if (!row->verified && entry->status != KL_CARD_HYPOTHESIS)
			continue;
		measure_row(values, asking, row, lacks);
		product = values[0] * values[1] * values[2]; /* at most 10^18 */
		for (int k = 0; k < 3; k++)
			fit->best[k] = values[k] > fit->best[k] ? (int32_t)values[k] : fit->best[k];
		if (product > most) {
			most = fit->product = product;
			fit->row = (int32_t)i;
		}
	}
}

int64_t kl_asking_first(struct kl_asking *asking, struct kl_index_list list, bool there)
{
	const uint32_t *item = kl_index_items(asking->ix, list);

	for (size_t i = 0; i < list.n; i++)
		if (kl_asking_has(asking, item[i]) == there)
			return item[i];
	return -1;
}

bool kl_asking_is_done(struct kl_asking *asking, const struct kl_index_card *card)
{
	const struct kl_index_prior *prior = kl_index_prior(asking->ix, card->prior);

	if (kl_asking_has(asking, card->id))
		return true;
	return prior->provides.n && kl_asking_first(asking, prior->provides, false) < 0;
}

/* Nothing that it cannot be with is there, and not yet all that it brings. */
static bool has_room(struct kl_asking *asking, const struct kl_index_card *card)
{
	if (kl_asking_first(asking, kl_index_prior(asking->ix, card->prior)->conflicts, true) >= 0)
		return false;
	return asking->o->repair || !kl_asking_is_done(asking, card);
}

void kl_measure_prior(struct kl_asking *asking, size_t card, int64_t prior)
{
	const struct kl_index_card *entry = kl_index_card(asking->ix, card);
	struct kl_fit *fit = &asking->fit[card];

	fit->best[KL_AXIS_PRIOR] = (int32_t)prior;
	fit->score = (int32_t)kl_similarity_score(
		(double)fit->product / 1e18 * (double)prior / KL_ONE, entry->passed, entry->trials);
}

/* The prior axis as far as the card alone tells it: with something to close, it is at most 1/2. */
static void bound_card(struct kl_asking *asking, size_t card)
{
	const struct kl_index_card *entry = kl_index_card(asking->ix, card);
	struct kl_fit *fit = &asking->fit[card];
	bool open;

	fit->settled = true;
	if (!fit->product || !has_room(asking, entry))
		return;
	open = kl_asking_first(asking, kl_index_prior(asking->ix, entry->prior)->requires, false) >=
	       0;
	fit->settled = !open;
	kl_measure_prior(asking, card, open ? KL_ONE / 2 : KL_ONE);
}

static void measure_some(void *ctx, size_t from, size_t to)
{
	struct kl_asking *asking = ctx;

	for (size_t i = from; i < to; i++) {
		asking->fit[i].row = -1;
		asking->fit[i].wanted = asking->o->statuses >>
						kl_index_card(asking->ix, i)->status &
					1;
		if (!asking->fit[i].wanted)
			continue;
		measure_card(asking, i);
		bound_card(asking, i);
	}
}

void kl_measure(struct kl_asking *asking)
{
	kl_par_for(asking->n, GRAIN, measure_some, asking);
}
