/* SPDX-License-Identifier: Apache-2.0 */
/* retrieve_measure - similarities of all cards to a target, on all processors */
#include <string.h>

#include "base/par.h"
#include "retrieve/retrieve_parts.h"

#define GRAIN 4096

static const char *text_of(const struct kl_asking *a, uint32_t string)
{
	return kl_index_string(a->ix, string);
}

/* Similarities and the like, asked for the first time: kept is one more, so that 0 is not asked. */

static int32_t ask_language(struct kl_asking *a, uint32_t string)
{
	int32_t x = 1 +
		    (int32_t)kl_similarity_language(a->t->tax, text_of(a, string), a->t->language);

	KL_KEEP(a->language[string], x);
	return x;
}

static int32_t ask_platform(struct kl_asking *a, uint32_t string)
{
	int32_t x = 1 +
		    (int32_t)kl_similarity_platform(a->t->tax, text_of(a, string), a->t->platform);

	KL_KEEP(a->platform[string], x);
	return x;
}

static int32_t ask_case(struct kl_asking *a, uint32_t point)
{
	int32_t x = 1 + (int32_t)kl_similarity_case(a->t->tax, kl_index_point(a->ix, point),
						    &a->t->point);

	KL_KEEP(a->point[point], x);
	return x;
}

static int8_t ask_able(struct kl_asking *a, uint32_t string)
{
	int8_t x = kl_capset_has(&a->t->caps, kl_taxonomy_cap(a->t->tax, text_of(a, string))) ? 2 :
												1;

	KL_KEEP(a->able[string], x);
	return x;
}

int8_t kl_asking_has_new(struct kl_asking *a, uint32_t string)
{
	int8_t x = a->t->prior.n && kl_target_has(a->t, text_of(a, string)) ? 2 : 1;

	KL_KEEP(a->has[string], x);
	return x;
}

static inline int64_t language_of(struct kl_asking *a, uint32_t string)
{
	int32_t x = KL_KEPT(a->language[string]);

	return (x ? x : ask_language(a, string)) - 1;
}

static inline int64_t platform_of(struct kl_asking *a, uint32_t string)
{
	int32_t x = KL_KEPT(a->platform[string]);

	return (x ? x : ask_platform(a, string)) - 1;
}

static inline int64_t case_of(struct kl_asking *a, uint32_t point)
{
	int32_t x = KL_KEPT(a->point[point]);

	return (x ? x : ask_case(a, point)) - 1;
}

static inline bool is_able(struct kl_asking *a, uint32_t string)
{
	int8_t x = KL_KEPT(a->able[string]);

	return (x ? x : ask_able(a, string)) == 2;
}

int64_t kl_measure_lacking(struct kl_asking *a, uint32_t prior)
{
	struct kl_index_list l = kl_index_prior(a->ix, prior)->needs;
	const uint32_t *item = kl_index_items(a->ix, l);

	for (size_t i = 0; i < l.n; i++)
		if (!is_able(a, item[i]))
			return item[i];
	return -1;
}

static inline void measure_row(int64_t axis[3], struct kl_asking *a, const struct kl_index_row *r,
			       bool lacks)
{
	axis[KL_AXIS_CASE] = case_of(a, r->point);
	axis[KL_AXIS_LANGUAGE] = language_of(a, r->language);
	axis[KL_AXIS_PLATFORM] = lacks ? 0 : platform_of(a, r->platform);
}

void kl_measure_row(int64_t axis[3], struct kl_asking *a, size_t card)
{
	const struct kl_index_card *c = kl_index_card(a->ix, card);

	memset(axis, 0, 3 * sizeof(*axis));
	if (a->fit[card].row >= 0)
		measure_row(axis, a, kl_index_row(a->ix, c->rows + (uint32_t)a->fit[card].row),
			    kl_measure_lacking(a, c->prior) >= 0);
}

static void measure_card(struct kl_asking *a, size_t card)
{
	const struct kl_index_card *c = kl_index_card(a->ix, card);
	bool lacks = kl_measure_lacking(a, c->prior) >= 0;
	struct kl_fit *f = &a->fit[card];
	int64_t most = -1;

	for (uint32_t i = 0; i < c->nrows; i++) {
		const struct kl_index_row *r = kl_index_row(a->ix, c->rows + i);
		int64_t x[3], product;

		/*
		 * what nothing verifies is asked for by its status, and then compared by all it has
		 */
		if (!r->verified && c->status != KL_CARD_HYPOTHESIS)
			continue;
		measure_row(x, a, r, lacks);
		product = x[0] * x[1] * x[2]; /* at most 10^18 */
		for (int k = 0; k < 3; k++)
			f->best[k] = x[k] > f->best[k] ? (int32_t)x[k] : f->best[k];
		if (product > most) {
			most = f->product = product;
			f->row = (int32_t)i;
		}
	}
}

int64_t kl_asking_first(struct kl_asking *a, struct kl_index_list l, bool there)
{
	const uint32_t *item = kl_index_items(a->ix, l);

	for (size_t i = 0; i < l.n; i++)
		if (kl_asking_has(a, item[i]) == there)
			return item[i];
	return -1;
}

bool kl_asking_is_done(struct kl_asking *a, const struct kl_index_card *c)
{
	const struct kl_index_prior *p = kl_index_prior(a->ix, c->prior);

	if (kl_asking_has(a, c->id))
		return true;
	return p->provides.n && kl_asking_first(a, p->provides, false) < 0;
}

/* Nothing that it cannot be with is there, and not yet all that it brings. */
static bool has_room(struct kl_asking *a, const struct kl_index_card *c)
{
	if (kl_asking_first(a, kl_index_prior(a->ix, c->prior)->conflicts, true) >= 0)
		return false;
	return a->o->repair || !kl_asking_is_done(a, c);
}

void kl_measure_prior(struct kl_asking *a, size_t card, int64_t prior)
{
	const struct kl_index_card *c = kl_index_card(a->ix, card);
	struct kl_fit *f = &a->fit[card];

	f->best[KL_AXIS_PRIOR] = (int32_t)prior;
	f->score = (int32_t)kl_similarity_score((double)f->product / 1e18 * (double)prior / KL_ONE,
						c->passed, c->trials);
}

/* The prior axis as far as the card alone tells it: with something to close, it is at most 1/2. */
static void bound_card(struct kl_asking *a, size_t card)
{
	const struct kl_index_card *c = kl_index_card(a->ix, card);
	struct kl_fit *f = &a->fit[card];
	bool open;

	f->settled = true;
	if (!f->product || !has_room(a, c))
		return;
	open = kl_asking_first(a, kl_index_prior(a->ix, c->prior)->requires, false) >= 0;
	f->settled = !open;
	kl_measure_prior(a, card, open ? KL_ONE / 2 : KL_ONE);
}

static void measure_some(void *ctx, size_t from, size_t to)
{
	struct kl_asking *a = ctx;

	for (size_t i = from; i < to; i++) {
		a->fit[i].row = -1;
		a->fit[i].wanted = a->o->statuses >> kl_index_card(a->ix, i)->status & 1;
		if (!a->fit[i].wanted)
			continue;
		measure_card(a, i);
		bound_card(a, i);
	}
}

void kl_measure(struct kl_asking *a)
{
	kl_par_for(a->n, GRAIN, measure_some, a);
}
