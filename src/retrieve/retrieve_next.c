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

static int by_mechanism(const void *left, const void *right)
{
	const struct taught *x = left, *y = right;

	if (x->mechanism != y->mechanism)
		return x->mechanism < y->mechanism ? -1 : 1;
	return by_lineage(left, right);
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
	size_t n = 0;

	for (size_t i = 0; i < target->steps.n; i++) {
		bool before = false;

		for (size_t k = 0; k < i; k++)
			before |= !strcmp(target->steps.v[k], target->steps.v[i]);
		n += !before;
	}
	return n;
}

/* Return the value of step `at` of a lineage whose steps begin at `first`, in order. */
static double value_of(const struct kl_retrieve_query *query, const struct taught *first,
		       const struct taught *at, size_t applied)
{
	size_t both = 0, only_there = 0;
	int64_t apart = llabs(at->step - (int64_t)query->t->steps.n - 1);

	for (const struct taught *before = first; before < at && before->step < at->step;
	     before++) {
		bool seen = false;

		for (const struct taught *other = first; other < before; other++)
			seen |= other->mechanism == before->mechanism;
		if (seen)
			continue;
		if (has_applied(query, before->mechanism))
			both++;
		else
			only_there++;
	}
	return (double)(both + 1) / (double)(applied + only_there + 1) - POSITION * (double)apart;
}

/* Set the value of each card to that of its best step. */
static void value_steps(double *value, struct kl_retrieve_query *query, struct taught_steps *steps)
{
	size_t applied = count_applied(query->t);
	const struct taught *first = steps->v;

	if (steps->n)
		qsort(steps->v, steps->n, sizeof(*steps->v), by_lineage);
	for (size_t i = 0; i < steps->n; i++) {
		const struct taught *at = &steps->v[i];
		double one;

		if (at->lineage != first->lineage)
			first = at;
		one = value_of(query, first, at, applied);
		if (one > value[at->card])
			value[at->card] = one;
	}
}

/* Add what the number of lineages that have a mechanism is worth to the cards of it. */
static void value_lineages(double *value, struct taught_steps *steps)
{
	if (steps->n)
		qsort(steps->v, steps->n, sizeof(*steps->v), by_mechanism);
	for (size_t from = 0, to; from < steps->n; from = to) {
		double lineages = 0;

		for (to = from; to < steps->n && steps->v[to].mechanism == steps->v[from].mechanism;
		     to++)
			lineages += to == from || steps->v[to].lineage != steps->v[to - 1].lineage;
		/* a card can have several steps: add to it once */
		for (size_t i = from; i < to; i++) {
			bool done = false;

			for (size_t k = from; k < i; k++)
				done |= steps->v[k].card == steps->v[i].card;
			if (!done)
				value[steps->v[i].card] += LINEAGE * lineages;
		}
	}
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

size_t kl_retrieve_query_next(struct kl_retrieve_query *query, uint32_t *card, int64_t *next)
{
	KL_AUTO(kl_freep) struct rank *rank = kl_calloc(query->n + 1, sizeof(*rank));
	KL_AUTO(kl_freep) double *value = kl_calloc(query->n + 1, sizeof(*value));
	struct taught_steps steps = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < query->n; i++) {
		value[i] = -1e6;
		if (query->fit[i].wanted)
			add_taught(&steps, query, i);
	}
	value_steps(value, query, &steps);
	value_lineages(value, &steps);
	free(steps.v);
	for (size_t i = 0; i < query->n; i++) {
		const struct kl_fit *fit = &query->fit[i];

		if (!fit->wanted || !fit->score)
			continue;
		kl_retrieve_query_settle(query, i);
		if (!fit->score || !kl_retrieve_query_is_sound(query, i))
			continue;
		rank[n++] = (struct rank){
			.card = (uint32_t)i,
			.applied = has_applied(query, kl_index_card(query->ix, i)->mechanism),
			.language = fit->best[KL_AXIS_LANGUAGE],
			.value = value[i],
			.id = kl_retrieve_query_id(query, i),
		};
	}
	if (n)
		qsort(rank, n, sizeof(*rank), by_rank);
	for (size_t i = 0; i < n; i++) {
		card[i] = rank[i].card;
		next[i] = (int64_t)(rank[i].value * KL_ONE);
	}
	return n;
}
