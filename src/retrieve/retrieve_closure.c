/* SPDX-License-Identifier: Apache-2.0 */
/* retrieve_closure - finds the other cards that meet a card's requirements */
#include <stdlib.h>
#include <string.h>

#include "retrieve/retrieve_parts.h"

/* At most this many requirements can be unmet at a time. */
#define MAX_OPEN 32
/* For each requirement, at most this many providers are tried; the best one is tried first. */
#define MAX_GIVERS 16

/* --- who provides a string -------------------------------------------------------------------- */

static void index_cards(struct kl_retrieve_query *query)
{
	size_t np = kl_index_npriors(query->ix);
	uint32_t *next;

	query->cards_at = kl_calloc(np + 2, sizeof(*query->cards_at));
	query->cards_of = kl_calloc(query->n + 1, sizeof(*query->cards_of));
	for (size_t i = 0; i < query->n; i++)
		query->cards_at[kl_index_card(query->ix, i)->prior + 1]++;
	for (size_t prior = 0; prior < np; prior++)
		query->cards_at[prior + 1] += query->cards_at[prior];
	next = kl_calloc(np + 1, sizeof(*next));
	memcpy(next, query->cards_at, np * sizeof(*next));
	for (size_t i = 0; i < query->n; i++)
		query->cards_of[next[kl_index_card(query->ix, i)->prior]++] = (uint32_t)i;
	free(next);
}

static void index_givers(struct kl_retrieve_query *query)
{
	size_t np = kl_index_npriors(query->ix), ns = kl_index_nstrings(query->ix), total = 0;
	uint32_t *next;

	query->givers_at = kl_calloc(ns + 2, sizeof(*query->givers_at));
	for (size_t prior = 0; prior < np; prior++) {
		struct kl_index_list list = kl_index_prior(query->ix, prior)->provides;
		const uint32_t *item = kl_index_items(query->ix, list);

		total += list.n;
		for (size_t i = 0; i < list.n; i++)
			query->givers_at[item[i] + 1]++;
	}
	for (size_t string = 0; string < ns; string++)
		query->givers_at[string + 1] += query->givers_at[string];
	query->givers = kl_calloc(total + 1, sizeof(*query->givers));
	next = kl_calloc(ns + 1, sizeof(*next));
	memcpy(next, query->givers_at, ns * sizeof(*next));
	for (size_t prior = 0; prior < np; prior++) {
		struct kl_index_list list = kl_index_prior(query->ix, prior)->provides;
		const uint32_t *item = kl_index_items(query->ix, list);

		for (size_t i = 0; i < list.n; i++)
			query->givers[next[item[i]]++] = (uint32_t)prior;
	}
	free(next);
	query->card_by_id = kl_malloc((ns + 1) * sizeof(*query->card_by_id));
	memset(query->card_by_id, -1, (ns + 1) * sizeof(*query->card_by_id));
	for (size_t i = 0; i < query->n; i++)
		query->card_by_id[kl_index_card(query->ix, i)->id] = (int32_t)i;
}

void kl_close_release(struct kl_retrieve_query *query)
{
	for (size_t i = 0; i < query->nasked; i++)
		free(query->best[query->asked[i]]);
	free(query->asked);
	free(query->best);
	free(query->cards_at);
	free(query->cards_of);
	free(query->givers_at);
	free(query->givers);
	free(query->card_by_id);
}

/* --- the best providers of a requirement ------------------------------------------------------ */

struct giver {
	uint32_t card;
	double rank;
};
struct kl_givers {
	size_t n;
	uint32_t card[MAX_GIVERS];
}; /* best first */

/*
 * Return the rank of a card: its case, language and platform axes, multiplied, times (passed + 1) /
 * (trials + 2). Unlike the score, the rank takes no root and leaves out the prior axis, which is
 * still being computed.
 */
static double rank_of(const struct kl_retrieve_query *query, size_t card)
{
	const struct kl_index_card *entry = kl_index_card(query->ix, card);

	return (double)query->fit[card].product * (double)(entry->passed + 1) /
	       (double)(entry->trials + 2);
}

static bool any_there(struct kl_retrieve_query *query, struct kl_index_list list)
{
	const uint32_t *item = kl_index_items(query->ix, list);

	for (size_t i = 0; i < list.n; i++)
		if (kl_retrieve_query_has(query, item[i]))
			return true;
	return false;
}

/*
 * Check that the card is not ruled out: its case, language and platform axes are not 0, and it does
 * not conflict with the target.
 */
static bool may_give(struct kl_retrieve_query *query, size_t card)
{
	return query->fit[card].product > 0 &&
	       !any_there(
		       query,
		       kl_index_prior(query->ix, kl_index_card(query->ix, card)->prior)->conflicts);
}

/*
 * Compare two providers: the one with the greater rank comes first; of equal ranks, the lesser id.
 */
static bool is_before(const struct kl_retrieve_query *query, const struct giver *x,
		      const struct giver *y)
{
	if (x->rank != y->rank)
		return x->rank > y->rank;
	return strcmp(kl_index_string(query->ix, kl_index_card(query->ix, x->card)->id),
		      kl_index_string(query->ix, kl_index_card(query->ix, y->card)->id)) < 0;
}

static size_t insert_giver(const struct kl_retrieve_query *query, struct giver *list, size_t n,
			   struct giver one)
{
	size_t i = n < MAX_GIVERS ? n : MAX_GIVERS;

	for (size_t k = 0; k < n; k++)
		if (list[k].card == one.card)
			return n;
	for (; i > 0 && is_before(query, &one, &list[i - 1]); i--)
		if (i < MAX_GIVERS)
			list[i] = list[i - 1];
	if (i < MAX_GIVERS)
		list[i] = one;
	return n < MAX_GIVERS ? n + 1 : n;
}

/*
 * Drop cards with a false `sound` predicate. Only the best providers of a requirement are checked,
 * so that the predicates of most cards are never evaluated.
 */
static size_t drop_unsound(struct kl_retrieve_query *query, struct giver *list, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (kl_retrieve_query_is_sound(query, list[i].card))
			list[kept++] = list[i];
	return kept;
}

/* Find the best providers of a string, and store them for all cards that require this string. */
static const struct kl_givers *find_givers(struct kl_retrieve_query *query, uint32_t string)
{
	struct giver givers[MAX_GIVERS];
	struct kl_givers *out;
	size_t n = 0;

	if (!query->cards_at) {
		index_cards(query);
		index_givers(query);
		query->best = kl_calloc(kl_index_nstrings(query->ix) + 1, sizeof(*query->best));
	}
	if (query->best[string])
		return query->best[string];
	if (query->card_by_id[string] >= 0 && may_give(query, (size_t)query->card_by_id[string]))
		n = insert_giver(
			query, givers, n,
			(struct giver){ (uint32_t)query->card_by_id[string],
					rank_of(query, (size_t)query->card_by_id[string]) });
	for (uint32_t i = query->givers_at[string]; i < query->givers_at[string + 1]; i++) {
		uint32_t prior = query->givers[i];

		for (uint32_t k = query->cards_at[prior]; k < query->cards_at[prior + 1]; k++)
			if (may_give(query, query->cards_of[k]))
				n = insert_giver(
					query, givers, n,
					(struct giver){ query->cards_of[k],
							rank_of(query, query->cards_of[k]) });
	}
	out = kl_calloc(1, sizeof(*out));
	out->n = drop_unsound(query, givers, n);
	for (size_t i = 0; i < out->n; i++)
		out->card[i] = givers[i].card;
	KL_GROW(query->asked, query->nasked + 1, query->asked_alloc);
	query->asked[query->nasked++] = string;
	return query->best[string] = out;
}

/* --- searching for a set of cards ------------------------------------------------------------- */

struct open_set {
	uint32_t v[MAX_OPEN];
	size_t n;
};

static bool is_listed(const struct kl_retrieve_query *query, struct kl_index_list list,
		      uint32_t string)
{
	const uint32_t *item = kl_index_items(query->ix, list);

	for (size_t i = 0; i < list.n; i++)
		if (item[i] == string)
			return true;
	return false;
}

static bool gives_fact(const struct kl_retrieve_query *query, size_t card, uint32_t string)
{
	const struct kl_index_card *entry = kl_index_card(query->ix, card);

	return entry->id == string ||
	       is_listed(query, kl_index_prior(query->ix, entry->prior)->provides, string);
}

/*
 * Add to `open` the requirements of a prior that neither the target nor a chosen card meets. Return
 * false if `open` would get too many.
 */
static bool add_open(struct kl_retrieve_query *query, struct open_set *open, uint32_t prior,
		     const size_t *chosen, size_t n)
{
	struct kl_index_list list = kl_index_prior(query->ix, prior)->requires;
	const uint32_t *item = kl_index_items(query->ix, list);

	for (size_t i = 0; i < list.n; i++) {
		bool met = kl_retrieve_query_has(query, item[i]);

		for (size_t k = 0; k < n && !met; k++)
			met = gives_fact(query, chosen[k], item[i]);
		for (size_t k = 0; k < open->n && !met; k++)
			met = open->v[k] == item[i];
		if (met)
			continue;
		if (open->n == MAX_OPEN)
			return false;
		open->v[open->n++] = item[i];
	}
	return true;
}

/*
 * Return the requirement whose name comes first. The numbers of strings depend on how the index was
 * built, so they cannot be compared instead.
 */
static uint32_t first_of(const struct kl_retrieve_query *query, const struct open_set *open)
{
	uint32_t best = open->v[0];

	for (size_t i = 1; i < open->n; i++)
		if (strcmp(kl_index_string(query->ix, open->v[i]),
			   kl_index_string(query->ix, best)) < 0)
			best = open->v[i];
	return best;
}

static bool any_listed(const struct kl_retrieve_query *query, struct kl_index_list in,
		       struct kl_index_list list)
{
	const uint32_t *item = kl_index_items(query->ix, list);

	for (size_t i = 0; i < list.n; i++)
		if (is_listed(query, in, item[i]))
			return true;
	return false;
}

/* Check whether one of the two priors provides something that the other conflicts with. */
static bool cards_clash(const struct kl_retrieve_query *query, uint32_t x, uint32_t y)
{
	const struct kl_index_prior *prior_x = kl_index_prior(query->ix, x),
				    *prior_y = kl_index_prior(query->ix, y);

	return any_listed(query, prior_y->conflicts, prior_x->provides) ||
	       any_listed(query, prior_x->conflicts, prior_y->provides);
}

static bool clash_any(const struct kl_retrieve_query *query, size_t card, uint32_t for_prior,
		      const size_t *chosen, size_t n)
{
	uint32_t prior = kl_index_card(query->ix, card)->prior;

	if (cards_clash(query, prior, for_prior))
		return true;
	for (size_t k = 0; k < n; k++)
		if (chosen[k] == card ||
		    cards_clash(query, prior, kl_index_card(query->ix, chosen[k])->prior))
			return true;
	return false;
}

static bool is_ready(struct kl_retrieve_query *query, size_t card, const size_t *placed, size_t n)
{
	struct open_set open = { .n = 0 };

	return add_open(query, &open, kl_index_card(query->ix, card)->prior, placed, n) && !open.n;
}

/*
 * Order the cards so that each comes after the cards it requires. Return false if requirements are
 * cyclic.
 */
static bool order_cards(struct kl_retrieve_query *query, size_t *card, const size_t *chosen,
			size_t n)
{
	bool done[KL_CLOSURE_MAX] = { false };

	for (size_t at = 0; at < n; at++) {
		size_t pick = n;

		for (size_t i = n; i-- > 0 && pick == n;)
			if (!done[i] && is_ready(query, chosen[i], card, at))
				pick = i;
		if (pick == n)
			return false;
		done[pick] = true;
		card[at] = chosen[pick];
	}
	return true;
}

/*
 * The search for one prior: the cards chosen so far and, at the end, the same cards in the order in
 * which to apply them.
 */
struct closing {
	uint32_t prior;
	size_t chosen[KL_CLOSURE_MAX], ordered[KL_CLOSURE_MAX];
};

/*
 * Choose at most `more` cards in addition to the `n` chosen ones, so that all requirements are met.
 */
static bool search_closure(struct kl_retrieve_query *query, struct closing *closing,
			   const struct open_set *open, size_t n, size_t more)
{
	const struct kl_givers *givers;

	if (!open->n)
		return order_cards(query, closing->ordered, closing->chosen, n);
	if (!more)
		return false;
	givers = find_givers(query, first_of(query, open));
	for (size_t i = 0; i < givers->n; i++) {
		struct open_set next = { .n = 0 };

		if (clash_any(query, givers->card[i], closing->prior, closing->chosen, n))
			continue;
		closing->chosen[n] = givers->card[i];
		for (size_t k = 0; k < open->n; k++)
			if (!gives_fact(query, givers->card[i], open->v[k]))
				next.v[next.n++] = open->v[k];
		if (add_open(query, &next, kl_index_card(query->ix, givers->card[i])->prior,
			     closing->chosen, n + 1) &&
		    search_closure(query, closing, &next, n + 1, more - 1))
			return true;
	}
	return false;
}

int kl_close(struct kl_retrieve_query *query, uint32_t prior, size_t card[KL_CLOSURE_MAX])
{
	struct open_set open = { .n = 0 };
	struct closing closing = { .prior = prior };

	if (!card && query->closure[prior] != -2)
		return query->closure[prior];
	query->closure[prior] = -1;
	if (!add_open(query, &open, prior, NULL, 0))
		return -1;
	for (size_t k = 0; k <= KL_CLOSURE_MAX; k++) {
		if (!search_closure(query, &closing, &open, 0, k))
			continue;
		if (card)
			memcpy(card, closing.ordered, k * sizeof(*card));
		query->closure[prior] = (int8_t)k;
		return (int)k;
	}
	return -1;
}
