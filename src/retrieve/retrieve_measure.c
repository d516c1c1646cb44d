/* SPDX-License-Identifier: Apache-2.0 */
/* retrieve_measure - computes the similarities of all cards to a target, in several threads */
#include <string.h>

#include "base/par.h"
#include "retrieve/retrieve_parts.h"

#define GRAIN 4096

static const char *text_of(const struct kl_retrieve_query *query, uint32_t string)
{
	return kl_index_string(query->ix, string);
}

/*
 * The functions below compute an entry of the query and store it. Similarities are stored plus 1,
 * because 0 means "not computed".
 */

static int32_t new_language(struct kl_retrieve_query *query, uint32_t string)
{
	int32_t kept = 1 + (int32_t)kl_similarity_language(query->t->tax, text_of(query, string),
							   query->t->language);

	KL_KEEP(query->language[string], kept);
	return kept;
}

static int32_t new_platform(struct kl_retrieve_query *query, uint32_t string)
{
	int32_t kept = 1 + (int32_t)kl_similarity_platform(query->t->tax, text_of(query, string),
							   query->t->platform);

	KL_KEEP(query->platform[string], kept);
	return kept;
}

static int32_t new_case(struct kl_retrieve_query *query, uint32_t point)
{
	int32_t kept = 1 + (int32_t)kl_similarity_case(query->t->tax,
						       kl_index_point(query->ix, point),
						       &query->t->point);

	KL_KEEP(query->point[point], kept);
	return kept;
}

static int8_t new_able(struct kl_retrieve_query *query, uint32_t string)
{
	int8_t able = kl_capset_has(&query->t->caps,
				    kl_taxonomy_cap(query->t->tax, text_of(query, string))) ?
			      2 :
			      1;

	KL_KEEP(query->able[string], able);
	return able;
}

int8_t kl_retrieve_query_has_new(struct kl_retrieve_query *query, uint32_t string)
{
	int8_t has = query->t->prior.n && kl_target_has(query->t, text_of(query, string)) ? 2 : 1;

	KL_KEEP(query->has[string], has);
	return has;
}

static inline int64_t language_of(struct kl_retrieve_query *query, uint32_t string)
{
	int32_t kept = KL_KEPT(query->language[string]);

	return (kept ? kept : new_language(query, string)) - 1;
}

static inline int64_t platform_of(struct kl_retrieve_query *query, uint32_t string)
{
	int32_t kept = KL_KEPT(query->platform[string]);

	return (kept ? kept : new_platform(query, string)) - 1;
}

static inline int64_t case_of(struct kl_retrieve_query *query, uint32_t point)
{
	int32_t kept = KL_KEPT(query->point[point]);

	return (kept ? kept : new_case(query, point)) - 1;
}

static inline bool is_able(struct kl_retrieve_query *query, uint32_t string)
{
	int8_t able = KL_KEPT(query->able[string]);

	return (able ? able : new_able(query, string)) == 2;
}

int64_t kl_measure_lacking(struct kl_retrieve_query *query, uint32_t prior)
{
	struct kl_index_list list = kl_index_prior(query->ix, prior)->needs;
	const uint32_t *item = kl_index_items(query->ix, list);

	for (size_t i = 0; i < list.n; i++)
		if (!is_able(query, item[i]))
			return item[i];
	return -1;
}

static inline void measure_row(int64_t axis[3], struct kl_retrieve_query *query,
			       const struct kl_index_row *row, bool lacks)
{
	axis[KL_AXIS_CASE] = case_of(query, row->point);
	axis[KL_AXIS_LANGUAGE] = language_of(query, row->language);
	axis[KL_AXIS_PLATFORM] = lacks ? 0 : platform_of(query, row->platform);
}

double kl_measure_likeness(struct kl_retrieve_query *query, const struct kl_index_row *row)
{
	int64_t axis[3];

	measure_row(axis, query, row, false);
	return (double)(axis[0] * axis[1] * axis[2]) / 1e18;
}

void kl_measure_row(int64_t axis[3], struct kl_retrieve_query *query, size_t card)
{
	const struct kl_index_card *entry = kl_index_card(query->ix, card);

	memset(axis, 0, 3 * sizeof(*axis));
	if (query->fit[card].row >= 0)
		measure_row(axis, query,
			    kl_index_row(query->ix, entry->rows + (uint32_t)query->fit[card].row),
			    kl_measure_lacking(query, entry->prior) >= 0);
}

static void measure_card(struct kl_retrieve_query *query, size_t card)
{
	const struct kl_index_card *entry = kl_index_card(query->ix, card);
	bool lacks = kl_measure_lacking(query, entry->prior) >= 0;
	struct kl_fit *fit = &query->fit[card];
	int64_t most = -1;

	for (uint32_t i = 0; i < entry->nrows; i++) {
		const struct kl_index_row *row = kl_index_row(query->ix, entry->rows + i);
		int64_t axis[3], product;

		/* a hypothesis has no verified rows, so all rows count */
		if (!row->verified && entry->status != KL_CARD_HYPOTHESIS)
			continue;
		measure_row(axis, query, row, lacks);
		product = axis[0] * axis[1] * axis[2]; /* at most 10^18 */
		for (int k = 0; k < 3; k++)
			fit->best[k] = axis[k] > fit->best[k] ? (int32_t)axis[k] : fit->best[k];
		if (product > most) {
			most = fit->product = product;
			fit->row = (int32_t)i;
		}
	}
}

int64_t kl_retrieve_query_first(struct kl_retrieve_query *query, struct kl_index_list list,
				bool there)
{
	const uint32_t *item = kl_index_items(query->ix, list);

	for (size_t i = 0; i < list.n; i++)
		if (kl_retrieve_query_has(query, item[i]) == there)
			return item[i];
	return -1;
}

bool kl_retrieve_query_is_done(struct kl_retrieve_query *query, const struct kl_index_card *card)
{
	const struct kl_index_prior *prior = kl_index_prior(query->ix, card->prior);

	if (kl_retrieve_query_has(query, card->id))
		return true;
	return prior->provides.n && kl_retrieve_query_first(query, prior->provides, false) < 0;
}

/*
 * Check that the card conflicts with nothing in the target and, unless `repair` is set, provides
 * something that the target lacks.
 */
static bool has_room(struct kl_retrieve_query *query, const struct kl_index_card *card)
{
	if (kl_retrieve_query_first(query, kl_index_prior(query->ix, card->prior)->conflicts,
				    true) >= 0)
		return false;
	return query->o->repair || !kl_retrieve_query_is_done(query, card);
}

void kl_measure_prior(struct kl_retrieve_query *query, size_t card, int64_t prior)
{
	const struct kl_index_card *entry = kl_index_card(query->ix, card);
	struct kl_fit *fit = &query->fit[card];

	fit->best[KL_AXIS_PRIOR] = (int32_t)prior;
	fit->score = (int32_t)kl_similarity_score(
		(double)fit->product / 1e18 * (double)prior / KL_ONE, entry->passed, entry->trials);
}

/*
 * Set the prior axis of a card without looking for other cards: 0 if the card has no room, 1 if its
 * requirements are met; otherwise 1/2, which is an upper bound.
 */
static void bound_card(struct kl_retrieve_query *query, size_t card)
{
	const struct kl_index_card *entry = kl_index_card(query->ix, card);
	struct kl_fit *fit = &query->fit[card];
	bool open;

	fit->settled = true;
	if (!fit->product || !has_room(query, entry))
		return;
	open = kl_retrieve_query_first(query, kl_index_prior(query->ix, entry->prior)->requires,
				       false) >= 0;
	fit->settled = !open;
	kl_measure_prior(query, card, open ? KL_ONE / 2 : KL_ONE);
}

static void measure_some(void *ctx, size_t from, size_t to)
{
	struct kl_retrieve_query *query = ctx;

	for (size_t i = from; i < to; i++) {
		query->fit[i].row = -1;
		query->fit[i].wanted = query->o->statuses >> kl_index_card(query->ix, i)->status &
				       1;
		if (!query->fit[i].wanted)
			continue;
		measure_card(query, i);
		bound_card(query, i);
	}
}

void kl_measure(struct kl_retrieve_query *query)
{
	kl_par_for(query->n, GRAIN, measure_some, query);
}
