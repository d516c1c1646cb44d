/* SPDX-License-Identifier: Apache-2.0 */
/* retrieve_next - orders cards by what came next in the lineages of the library */
#include <stdlib.h>
#include <string.h>

#include "retrieve/retrieve_parts.h"

/*
 * A card is learned from steps of lineages. A step counts for its card if the lineage had used the
 * card's mechanism before the step as often as the target has. The likeness of the step to the
 * target is measured only by the mechanisms of its lineage, because the lineage tells nothing about
 * others:
 *
 *	mechanisms that came before the step and that the target has, plus 1, over
 *	mechanisms that came before the step or that the target has, plus 2
 *
 * times the likeness of the step's row to the target, by case, language and platform. A card's value
 * is the sum over operators of the best likeness of their steps: lineages of one operator repeat what
 * its algorithm needs, and only other operators confirm that others need it, too. Cards in the
 * target's language come first; among these and among the others, cards with a false `useful`
 * condition come last, and otherwise cards are sorted by value. Unmet requirements do not rule out a
 * card, because most of them are facts that came before the step in all lineages, which the likeness
 * already counts. If the target has the mechanism of a card, the card is listed only if a lineage
 * used the mechanism once more. There are no weights, so nothing is fitted to the lineages by which
 * retrieval is measured (tests/bench/retrieval.sh).
 */

/* A step of a lineage that a card was learned from. */
struct taught {
	uint32_t lineage, mechanism, card; /* two numbers of strings, and the card */
	int64_t step;
	uint64_t op;   /* digest of the operator's name; 0 if not known */
	double weight; /* likeness of the step's row to the target */
};

struct taught_steps {
	struct taught *v;
	size_t n, alloc;
};

/* Set the operator of a step and its weight: those of its row or, if it has none, of the card. */
static void measure_taught(struct taught *step, struct kl_retrieve_query *query, const char *row)
{
	const struct kl_index_card *entry = kl_index_card(query->ix, step->card);
	int64_t number = *row ? strtoll(row, NULL, 10) : query->fit[step->card].row;
	const struct kl_index_row *measured;

	if (number < 0 || number >= entry->nrows)
		return;
	measured = kl_index_row(query->ix, entry->rows + (uint32_t)number);
	step->op = kl_index_point(query->ix, measured->point)->name;
	step->weight = kl_measure_likeness(query, measured);
}

static void add_taught(struct taught_steps *out, struct kl_retrieve_query *query, size_t card)
{
	const struct kl_index_card *entry = kl_index_card(query->ix, card);
	const uint32_t *item = kl_index_items(query->ix, entry->evidence),
		       *row = kl_index_items(query->ix, entry->evidence_row);

	for (size_t i = 0; i < entry->evidence_row.n; i++) {
		KL_GROW(out->v, out->n + 1, out->alloc);
		out->v[out->n] = (struct taught){
			.lineage = item[2 * i],
			.mechanism = entry->mechanism,
			.card = (uint32_t)card,
			.step = strtoll(kl_index_string(query->ix, item[2 * i + 1]), NULL, 10),
		};
		measure_taught(&out->v[out->n++], query, kl_index_string(query->ix, row[i]));
	}
}

static int by_lineage(const void *left, const void *right)
{
	const struct taught *x = left, *y = right;

	if (x->lineage != y->lineage)
		return x->lineage < y->lineage ? -1 : 1;
	return x->step < y->step ? -1 : x->step > y->step;
}

/* The values that a query computes from the lineages of the library. */
struct lore {
	double *own;   /* by card: the greatest likeness of its steps */
	double *value; /* by number of a string that is a mechanism: sum over the operators */
	double *best;  /* by number of a string: best likeness in the operator that is being read */
	uint32_t *had; /* by number of a string: 1 + uses in the target; 0 if not counted yet */
	uint32_t *uses; /* by number of a string: uses in the lineage that is being read */
	size_t *seen;   /* by number of a string: the last pass that saw it (see_first()) */
};

static void lore_release(struct lore *lore)
{
	free(lore->own);
	free(lore->value);
	free(lore->best);
	free(lore->had);
	free(lore->uses);
	free(lore->seen);
}

static void lore_init(struct lore *lore, const struct kl_retrieve_query *query)
{
	size_t n = kl_index_nstrings(query->ix) + 1;

	lore->own = kl_calloc(query->n + 1, sizeof(*lore->own));
	lore->value = kl_calloc(n, sizeof(*lore->value));
	lore->best = kl_calloc(n, sizeof(*lore->best));
	lore->had = kl_calloc(n, sizeof(*lore->had));
	lore->uses = kl_calloc(n, sizeof(*lore->uses));
	lore->seen = kl_calloc(n, sizeof(*lore->seen));
}

/* Count how often the target used the mechanism. */
static uint32_t count_had(struct lore *lore, const struct kl_retrieve_query *query,
			  uint32_t mechanism)
{
	const char *name = kl_index_string(query->ix, mechanism);

	if (!lore->had[mechanism]) {
		lore->had[mechanism] = 1;
		for (size_t i = 0; *name && i < query->t->steps.n; i++)
			lore->had[mechanism] += !strcmp(query->t->steps.v[i], name);
	}
	return lore->had[mechanism] - 1;
}

/* The passes over the steps from index i on, in the order in which they are made. */
enum pass { PASS_LINEAGE, PASS_USE, PASSES };

/* Return true if the pass over the steps from index i on did not see the mechanism before. */
static bool see_first(struct lore *lore, uint32_t mechanism, size_t i, enum pass pass)
{
	size_t number = 1 + PASSES * i + (size_t)pass;
	bool first = lore->seen[mechanism] != number;

	lore->seen[mechanism] = number;
	return first;
}

/* Counts of mechanisms: used before a step, of these also in the target, and all in the target. */
struct before {
	size_t there, both, had;
};

/* Add the likeness of one step of a lineage, the entries [from, to), to the values of its cards. */
static void value_step(struct lore *lore, const struct kl_retrieve_query *query,
		       const struct taught *step, size_t from, size_t to,
		       const struct before *before)
{
	double order = (double)(before->both + 1) /
		       (double)(before->there + before->had - before->both + 2);

	for (size_t i = from; i < to; i++) {
		uint32_t mechanism = step[i].mechanism;
		double likeness = order * step[i].weight;

		if (lore->uses[mechanism] != count_had(lore, query, mechanism))
			continue;
		if (likeness > lore->best[mechanism])
			lore->best[mechanism] = likeness;
		if (likeness > lore->own[step[i].card])
			lore->own[step[i].card] = likeness;
	}
}

static void use_step(struct lore *lore, const struct kl_retrieve_query *query,
		     const struct taught *step, size_t from, size_t to, struct before *before)
{
	for (size_t i = from; i < to; i++) {
		uint32_t mechanism = step[i].mechanism;

		if (!see_first(lore, mechanism, from, PASS_USE) || lore->uses[mechanism]++)
			continue;
		before->there++;
		before->both += count_had(lore, query, mechanism) > 0;
	}
}

/* Learn from the steps [from, to) of one lineage, which are sorted. */
static void learn_lineage(struct lore *lore, const struct kl_retrieve_query *query,
			  const struct taught *step, size_t from, size_t to)
{
	struct before before = { 0 };

	for (size_t i = from; i < to; i++)
		if (see_first(lore, step[i].mechanism, from, PASS_LINEAGE))
			before.had += count_had(lore, query, step[i].mechanism) > 0;
	for (size_t i = from, same; i < to; i = same) {
		for (same = i; same < to && step[same].step == step[i].step; same++)
			;
		value_step(lore, query, step, i, same, &before);
		use_step(lore, query, step, i, same, &before);
	}
	for (size_t i = from; i < to; i++)
		lore->uses[step[i].mechanism] = 0;
}

/* The steps of one lineage: the entries [from, to) of the sorted steps. */
struct run {
	size_t from, to;
	uint64_t op; /* of the lineage's first step whose operator is known */
};

static int by_op(const void *left, const void *right)
{
	const struct run *x = left, *y = right;

	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* Split the sorted steps into lineages, and sort these by operator. Return their number. */
static size_t split_lineages(struct run *run, const struct taught_steps *steps)
{
	size_t n = 0;

	for (size_t from = 0, to; from < steps->n; from = to) {
		run[n] = (struct run){ .from = from };
		for (to = from; to < steps->n && steps->v[to].lineage == steps->v[from].lineage;
		     to++)
			if (!run[n].op)
				run[n].op = steps->v[to].op;
		run[n++].to = to;
	}
	if (n)
		qsort(run, n, sizeof(*run), by_op);
	return n;
}

/* Add the best likeness of each mechanism of an operator to its value. */
static void value_operator(struct lore *lore, const struct taught *step, const struct run *run,
			   size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = run[i].from; k < run[i].to; k++) {
			lore->value[step[k].mechanism] += lore->best[step[k].mechanism];
			lore->best[step[k].mechanism] = 0;
		}
}

static void learn(struct lore *lore, struct kl_retrieve_query *query)
{
	struct taught_steps steps = { 0 };
	KL_AUTO(kl_freep) struct run *run = NULL;
	size_t n;

	lore_init(lore, query);
	for (size_t i = 0; i < query->n; i++)
		if (query->fit[i].wanted)
			add_taught(&steps, query, i);
	if (steps.n)
		qsort(steps.v, steps.n, sizeof(*steps.v), by_lineage);
	run = kl_calloc(steps.n + 1, sizeof(*run));
	n = split_lineages(run, &steps);
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from; to < n && run[to].op == run[from].op; to++)
			learn_lineage(lore, query, steps.v, run[to].from, run[to].to);
		value_operator(lore, steps.v, &run[from], to - from);
	}
	free(steps.v);
}

/* --- the order -------------------------------------------------------------------------------- */

struct rank {
	uint32_t card;
	int32_t language; /* millionths: the similarity of the languages */
	bool useful;      /* no `useful` condition is false */
	double value, own;
	const char *id;
};

static int by_rank(const void *left, const void *right)
{
	const struct rank *x = left, *y = right;

	if (x->language != y->language)
		return x->language > y->language ? -1 : 1;
	if (x->useful != y->useful)
		return x->useful ? -1 : 1;
	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	if (x->own != y->own)
		return x->own > y->own ? -1 : 1;
	return strcmp(x->id, y->id);
}

/* Return true if the card may come next, that is, if at most its requirements rule it out. */
static bool may_come(struct kl_retrieve_query *query, size_t card, double value)
{
	const struct kl_index_card *entry = kl_index_card(query->ix, card);
	const struct kl_index_prior *prior = kl_index_prior(query->ix, entry->prior);

	if (!query->fit[card].wanted || !query->fit[card].product ||
	    kl_retrieve_query_first(query, prior->conflicts, true) >= 0)
		return false;
	if (!query->o->repair && value <= 0 && kl_retrieve_query_is_done(query, entry))
		return false;
	return kl_retrieve_query_is_sound(query, card);
}

size_t kl_retrieve_query_next(struct kl_retrieve_query *query, uint32_t *card)
{
	KL_AUTO(kl_freep) struct rank *rank = kl_calloc(query->n + 1, sizeof(*rank));
	KL_AUTO(lore_release) struct lore lore = { 0 };
	size_t n = 0;

	learn(&lore, query);
	for (size_t i = 0; i < query->n; i++) {
		const struct kl_index_card *entry = kl_index_card(query->ix, i);
		struct kl_fit *fit = &query->fit[i];
		bool named = *kl_index_string(query->ix, entry->mechanism);
		double value = named ? lore.value[entry->mechanism] : lore.own[i];

		if (!may_come(query, i, value))
			continue;
		fit->listed = true;
		fit->next = (int64_t)(value * KL_ONE);
		rank[n++] = (struct rank){
			.card = (uint32_t)i,
			.language = fit->best[KL_AXIS_LANGUAGE],
			.useful = kl_retrieve_query_is_useful(query, i),
			.value = value,
			.own = lore.own[i],
			.id = kl_retrieve_query_id(query, i),
		};
	}
	if (n)
		qsort(rank, n, sizeof(*rank), by_rank);
	for (size_t i = 0; i < n; i++)
		card[i] = rank[i].card;
	return n;
}
