/* SPDX-License-Identifier: Apache-2.0 */
/* retrieve_next - orders cards by what came next in the lineages of the library */
#include <stdlib.h>
#include <string.h>

#include "retrieve/retrieve_parts.h"

/*
 * A card is learned from steps of lineages. Its value for a target is highest if one of these steps
 * followed the same mechanisms as the target has, at the same position:
 *
 *	likeness of the mechanisms before the step and those of the target (Jaccard, with one added
 *	to both counts), minus 0.2 for each step that lies between the two positions,
 *	plus 0.1 for each lineage that has a step of the card's mechanism
 *
 * Cards whose mechanism the target has not applied come first, then cards of its language, then
 * cards of higher value. The weights were chosen by leaving out one workload of the shipped
 * lineages at a time (tests/bench/retrieval.sh).
 */
#define POSITION 0.2
#define LINEAGE 0.1
#define UNTAUGHT (-1000.0) /* value of a card without a step: below that of any step */

/* A step of a lineage that a card was learned from. */
struct taught {
	uint32_t lineage, mechanism, card; /* two numbers of strings, and the card */
	int64_t step;
};

struct taught_steps {
	struct taught *v;
	size_t n, alloc;
};

static void add_taught(struct taught_steps *out, const struct kl_retrieve_query *query, size_t card)
{
	const struct kl_index_card *entry = kl_index_card(query->ix, card);
	const uint32_t *item = kl_index_items(query->ix, entry->evidence);

	for (size_t i = 0; i + 1 < entry->evidence.n; i += 2) {
		KL_GROW(out->v, out->n + 1, out->alloc);
		out->v[out->n++] = (struct taught){
			.lineage = item[i],
			.mechanism = entry->mechanism,
			.card = (uint32_t)card,
			.step = strtoll(kl_index_string(query->ix, item[i + 1]), NULL, 10),
		};
	}
}

static int by_lineage(const void *left, const void *right)
{
	const struct taught *x = left, *y = right;

	if (x->lineage != y->lineage)
		return x->lineage < y->lineage ? -1 : 1;
	return x->step < y->step ? -1 : x->step > y->step;
}

/* Return true if the target has applied the mechanism. */
static bool has_applied(const struct kl_retrieve_query *query, uint32_t mechanism)
{
	const char *name = kl_index_string(query->ix, mechanism);

	return *name && kl_strvec_has(&query->t->steps, name);
}

/* Count the different mechanisms of the target. */
static size_t count_applied(const struct kl_target *target)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec all = KL_STRVEC_INIT;

	kl_strvec_copy(&all, &target->steps);
	kl_strvec_uniq(&all);
	return all.n;
}

/* What a query knows of the lineages of the library. */
struct lore {
	double *value;       /* by card: the value of its best step */
	uint32_t *lineages;  /* by number of a string: lineages with a step of this mechanism */
	size_t *counted_for; /* by number of a string: 1 + the first step of the last such lineage */
	size_t applied;      /* number of different mechanisms of the target */
};

static void lore_release(struct lore *lore)
{
	free(lore->value);
	free(lore->lineages);
	free(lore->counted_for);
}

/* Value the steps [from, to) of one lineage, which are sorted, and count its mechanisms. */
static void add_lineage(struct lore *lore, const struct kl_retrieve_query *query,
			const struct taught_steps *steps, size_t from, size_t to)
{
	int64_t next_step = (int64_t)query->t->steps.n + 1;
	size_t both = 0, only_there = 0;

	for (size_t i = from, same; i < to; i = same) {
		for (same = i; same < to && steps->v[same].step == steps->v[i].step; same++) {
			double likeness = (double)(both + 1) /
					  (double)(lore->applied + only_there + 1);
			double one = likeness -
				     POSITION * (double)llabs(steps->v[same].step - next_step);

			if (one > lore->value[steps->v[same].card])
				lore->value[steps->v[same].card] = one;
		}
		for (size_t k = i; k < same; k++) {
			uint32_t mechanism = steps->v[k].mechanism;

			if (lore->counted_for[mechanism] == from + 1)
				continue;
			lore->counted_for[mechanism] = from + 1;
			lore->lineages[mechanism]++;
			if (has_applied(query, mechanism))
				both++;
			else
				only_there++;
		}
	}
}

static void learn(struct lore *lore, const struct kl_retrieve_query *query)
{
	struct taught_steps steps = { 0 };

	lore->value = kl_calloc(query->n + 1, sizeof(*lore->value));
	lore->lineages = kl_calloc(kl_index_nstrings(query->ix) + 1, sizeof(*lore->lineages));
	lore->counted_for = kl_calloc(kl_index_nstrings(query->ix) + 1, sizeof(*lore->counted_for));
	lore->applied = count_applied(query->t);
	for (size_t i = 0; i < query->n; i++) {
		lore->value[i] = UNTAUGHT;
		if (query->fit[i].wanted)
			add_taught(&steps, query, i);
	}
	if (steps.n)
		qsort(steps.v, steps.n, sizeof(*steps.v), by_lineage);
	for (size_t from = 0, to; from < steps.n; from = to) {
		for (to = from; to < steps.n && steps.v[to].lineage == steps.v[from].lineage; to++)
			;
		add_lineage(lore, query, &steps, from, to);
	}
	free(steps.v);
}

struct rank {
	uint32_t card;
	bool applied;
	int32_t language; /* millionths: the similarity of the languages */
	double value;
	const char *id;
};

static int by_rank(const void *left, const void *right)
{
	const struct rank *x = left, *y = right;

	if (x->applied != y->applied)
		return x->applied ? 1 : -1;
	if (x->language != y->language)
		return x->language > y->language ? -1 : 1;
	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return strcmp(x->id, y->id);
}

size_t kl_retrieve_query_next(struct kl_retrieve_query *query, uint32_t *card)
{
	KL_AUTO(kl_freep) struct rank *rank = kl_calloc(query->n + 1, sizeof(*rank));
	KL_AUTO(lore_release) struct lore lore = { 0 };
	size_t n = 0;

	learn(&lore, query);
	for (size_t i = 0; i < query->n; i++) {
		struct kl_fit *fit = &query->fit[i];
		uint32_t mechanism = kl_index_card(query->ix, i)->mechanism;

		if (!fit->score)
			continue;
		kl_retrieve_query_settle(query, i);
		if (!fit->score || !kl_retrieve_query_is_sound(query, i))
			continue;
		rank[n] = (struct rank){
			.card = (uint32_t)i,
			.applied = has_applied(query, mechanism),
			.language = fit->best[KL_AXIS_LANGUAGE],
			.value = lore.value[i] + LINEAGE * lore.lineages[mechanism],
			.id = kl_retrieve_query_id(query, i),
		};
		fit->next = (int64_t)(rank[n++].value * KL_ONE);
	}
	if (n)
		qsort(rank, n, sizeof(*rank), by_rank);
	for (size_t i = 0; i < n; i++)
		card[i] = rank[i].card;
	return n;
}
