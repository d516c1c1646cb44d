/* SPDX-License-Identifier: Apache-2.0 */
/* retrieve_closure - finds the further cards that a card requires, in the order to apply them */
#include <stdlib.h>
#include <string.h>

#include "retrieve/retrieve_parts.h"

#define MAX_OPEN 32   /* requirements open at once */
#define MAX_GIVERS 16 /* cards that are tried for one requirement, the best ones */

/* --- who provides what ---------------------------------------------------------- */

static void index_cards(struct kl_asking *a)
{
	size_t np = kl_index_npriors(a->ix);
	uint32_t *next;

	a->cards_at = kl_calloc(np + 2, sizeof(*a->cards_at));
	a->cards_of = kl_calloc(a->n + 1, sizeof(*a->cards_of));
	for (size_t i = 0; i < a->n; i++)
		a->cards_at[kl_index_card(a->ix, i)->prior + 1]++;
	for (size_t p = 0; p < np; p++)
		a->cards_at[p + 1] += a->cards_at[p];
	next = kl_calloc(np + 1, sizeof(*next));
	memcpy(next, a->cards_at, np * sizeof(*next));
	for (size_t i = 0; i < a->n; i++)
		a->cards_of[next[kl_index_card(a->ix, i)->prior]++] = (uint32_t)i;
	free(next);
}

static void index_givers(struct kl_asking *a)
{
	size_t np = kl_index_npriors(a->ix), ns = kl_index_nstrings(a->ix), total = 0;
	uint32_t *next;

	a->givers_at = kl_calloc(ns + 2, sizeof(*a->givers_at));
	for (size_t p = 0; p < np; p++) {
		struct kl_index_list l = kl_index_prior(a->ix, p)->provides;
		const uint32_t *item = kl_index_items(a->ix, l);

		total += l.n;
		for (size_t i = 0; i < l.n; i++)
			a->givers_at[item[i] + 1]++;
	}
	for (size_t s = 0; s < ns; s++)
		a->givers_at[s + 1] += a->givers_at[s];
	a->givers = kl_calloc(total + 1, sizeof(*a->givers));
	next = kl_calloc(ns + 1, sizeof(*next));
	memcpy(next, a->givers_at, ns * sizeof(*next));
	for (size_t p = 0; p < np; p++) {
		struct kl_index_list l = kl_index_prior(a->ix, p)->provides;
		const uint32_t *item = kl_index_items(a->ix, l);

		for (size_t i = 0; i < l.n; i++)
			a->givers[next[item[i]]++] = (uint32_t)p;
	}
	free(next);
	a->card_by_id = kl_malloc((ns + 1) * sizeof(*a->card_by_id));
	memset(a->card_by_id, -1, (ns + 1) * sizeof(*a->card_by_id));
	for (size_t i = 0; i < a->n; i++)
		a->card_by_id[kl_index_card(a->ix, i)->id] = (int32_t)i;
}

void kl_close_release(struct kl_asking *a)
{
	for (size_t i = 0; i < a->nasked; i++)
		free(a->best[a->asked[i]]);
	free(a->asked);
	free(a->best);
	free(a->cards_at);
	free(a->cards_of);
	free(a->givers_at);
	free(a->givers);
	free(a->card_by_id);
}

/* --- cards for one requirement ------------------------------------------------------ */

struct giver {
	uint32_t card;
	double rank;
};
struct kl_givers {
	size_t n;
	uint32_t card[MAX_GIVERS];
}; /* best first */

/* Good at what it does, and near: without the prior axis, which is being worked out. */
static double rank_of(const struct kl_asking *a, size_t card)
{
	const struct kl_index_card *c = kl_index_card(a->ix, card);

	return (double)a->fit[card].product * (double)(c->passed + 1) / (double)(c->trials + 2);
}

static bool any_there(struct kl_asking *a, struct kl_index_list l)
{
	const uint32_t *item = kl_index_items(a->ix, l);

	for (size_t i = 0; i < l.n; i++)
		if (kl_asking_has(a, item[i]))
			return true;
	return false;
}

/* Could it be applied to this target at all? */
static bool may_give(struct kl_asking *a, size_t card)
{
	return a->fit[card].product > 0 &&
	       !any_there(a, kl_index_prior(a->ix, kl_index_card(a->ix, card)->prior)->conflicts);
}

/* best first, ties by id */
static bool is_before(const struct kl_asking *a, const struct giver *x, const struct giver *y)
{
	if (x->rank != y->rank)
		return x->rank > y->rank;
	return strcmp(kl_index_string(a->ix, kl_index_card(a->ix, x->card)->id),
		      kl_index_string(a->ix, kl_index_card(a->ix, y->card)->id)) < 0;
}

static size_t insert_giver(const struct kl_asking *a, struct giver *g, size_t n, struct giver one)
{
	size_t i = n < MAX_GIVERS ? n : MAX_GIVERS;

	for (size_t k = 0; k < n; k++)
		if (g[k].card == one.card)
			return n;
	for (; i > 0 && is_before(a, &one, &g[i - 1]); i--)
		if (i < MAX_GIVERS)
			g[i] = g[i - 1];
	if (i < MAX_GIVERS)
		g[i] = one;
	return n < MAX_GIVERS ? n + 1 : n;
}

/* Sound predicates are asked of the best alone, so that most cards' are never read. */
static size_t drop_unsound(struct kl_asking *a, struct giver *g, size_t n)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++)
		if (kl_asking_is_sound(a, g[i].card))
			g[left++] = g[i];
	return left;
}

/* They are the same for whoever asks. */
static const struct kl_givers *find_givers(struct kl_asking *a, uint32_t string)
{
	struct giver g[MAX_GIVERS];
	struct kl_givers *out;
	size_t n = 0;

	if (!a->cards_at) {
		index_cards(a);
		index_givers(a);
		a->best = kl_calloc(kl_index_nstrings(a->ix) + 1, sizeof(*a->best));
	}
	if (a->best[string])
		return a->best[string];
	if (a->card_by_id[string] >= 0 && may_give(a, (size_t)a->card_by_id[string]))
		n = insert_giver(a, g, n,
				 (struct giver){ (uint32_t)a->card_by_id[string],
						 rank_of(a, (size_t)a->card_by_id[string]) });
	for (uint32_t i = a->givers_at[string]; i < a->givers_at[string + 1]; i++) {
		uint32_t p = a->givers[i];

		for (uint32_t k = a->cards_at[p]; k < a->cards_at[p + 1]; k++)
			if (may_give(a, a->cards_of[k]))
				n = insert_giver(a, g, n,
						 (struct giver){ a->cards_of[k],
								 rank_of(a, a->cards_of[k]) });
	}
	out = kl_calloc(1, sizeof(*out));
	out->n = drop_unsound(a, g, n);
	for (size_t i = 0; i < out->n; i++)
		out->card[i] = g[i].card;
	KL_GROW(a->asked, a->nasked + 1, a->asked_alloc);
	a->asked[a->nasked++] = string;
	return a->best[string] = out;
}

/* --- the search ----------------------------------------------------------------------- */

struct open_set {
	uint32_t v[MAX_OPEN];
	size_t n;
};

static bool is_listed(const struct kl_asking *a, struct kl_index_list l, uint32_t string)
{
	const uint32_t *item = kl_index_items(a->ix, l);

	for (size_t i = 0; i < l.n; i++)
		if (item[i] == string)
			return true;
	return false;
}

static bool gives_fact(const struct kl_asking *a, size_t card, uint32_t string)
{
	const struct kl_index_card *c = kl_index_card(a->ix, card);

	return c->id == string || is_listed(a, kl_index_prior(a->ix, c->prior)->provides, string);
}

/* What a prior still requires, given the target and the cards chosen; false: too much. */
static bool add_open(struct kl_asking *a, struct open_set *open, uint32_t prior,
		     const size_t *chosen, size_t n)
{
	struct kl_index_list l = kl_index_prior(a->ix, prior)->requires;
	const uint32_t *item = kl_index_items(a->ix, l);

	for (size_t i = 0; i < l.n; i++) {
		bool met = kl_asking_has(a, item[i]);

		for (size_t k = 0; k < n && !met; k++)
			met = gives_fact(a, chosen[k], item[i]);
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

/* by text: numbers are the file's affair */
static uint32_t first_of(const struct kl_asking *a, const struct open_set *open)
{
	uint32_t best = open->v[0];

	for (size_t i = 1; i < open->n; i++)
		if (strcmp(kl_index_string(a->ix, open->v[i]), kl_index_string(a->ix, best)) < 0)
			best = open->v[i];
	return best;
}

static bool any_listed(const struct kl_asking *a, struct kl_index_list in, struct kl_index_list l)
{
	const uint32_t *item = kl_index_items(a->ix, l);

	for (size_t i = 0; i < l.n; i++)
		if (is_listed(a, in, item[i]))
			return true;
	return false;
}

/* Does one bring what the other cannot be with? */
static bool cards_clash(const struct kl_asking *a, uint32_t prior, uint32_t other)
{
	const struct kl_index_prior *p = kl_index_prior(a->ix, prior),
				    *q = kl_index_prior(a->ix, other);

	return any_listed(a, q->conflicts, p->provides) || any_listed(a, p->conflicts, q->provides);
}

static bool clash_any(const struct kl_asking *a, size_t card, uint32_t for_prior,
		      const size_t *chosen, size_t n)
{
	uint32_t prior = kl_index_card(a->ix, card)->prior;

	if (cards_clash(a, prior, for_prior))
		return true;
	for (size_t k = 0; k < n; k++)
		if (chosen[k] == card ||
		    cards_clash(a, prior, kl_index_card(a->ix, chosen[k])->prior))
			return true;
	return false;
}

static bool is_ready(struct kl_asking *a, size_t card, const size_t *placed, size_t n)
{
	struct open_set open = { .n = 0 };

	return add_open(a, &open, kl_index_card(a->ix, card)->prior, placed, n) && !open.n;
}

/* Each after what it stands on; false: they stand on each other, and none can be first. */
static bool order_cards(struct kl_asking *a, size_t *card, const size_t *chosen, size_t n)
{
	bool done[KL_CLOSURE_MAX] = { false };

	for (size_t at = 0; at < n; at++) {
		size_t pick = n;

		for (size_t i = n; i-- > 0 && pick == n;)
			if (!done[i] && is_ready(a, chosen[i], card, at))
				pick = i;
		if (pick == n)
			return false;
		done[pick] = true;
		card[at] = chosen[pick];
	}
	return true;
}

/* What is being closed: for which prior, with which cards so far, and they in order. */
struct closing {
	uint32_t prior;
	size_t chosen[KL_CLOSURE_MAX], ordered[KL_CLOSURE_MAX];
};

/* Choose `left` more cards so that nothing stays open. */
static bool search_closure(struct kl_asking *a, struct closing *c, const struct open_set *open,
			   size_t n, size_t left)
{
	const struct kl_givers *g;

	if (!open->n)
		return order_cards(a, c->ordered, c->chosen, n);
	if (!left)
		return false;
	g = find_givers(a, first_of(a, open));
	for (size_t i = 0; i < g->n; i++) {
		struct open_set next = { .n = 0 };

		if (clash_any(a, g->card[i], c->prior, c->chosen, n))
			continue;
		c->chosen[n] = g->card[i];
		for (size_t k = 0; k < open->n; k++)
			if (!gives_fact(a, g->card[i], open->v[k]))
				next.v[next.n++] = open->v[k];
		if (add_open(a, &next, kl_index_card(a->ix, g->card[i])->prior, c->chosen, n + 1) &&
		    search_closure(a, c, &next, n + 1, left - 1))
			return true;
	}
	return false;
}

int kl_close(struct kl_asking *a, uint32_t prior, size_t card[KL_CLOSURE_MAX])
{
	struct open_set open = { .n = 0 };
	struct closing c = { .prior = prior };

	if (!card && a->closure[prior] != -2)
		return a->closure[prior];
	a->closure[prior] = -1;
	if (!add_open(a, &open, prior, NULL, 0))
		return -1;
	for (size_t k = 0; k <= KL_CLOSURE_MAX; k++) {
		if (!search_closure(a, &c, &open, 0, k))
			continue;
		if (card)
			memcpy(card, c.ordered, k * sizeof(*card));
		a->closure[prior] = (int8_t)k;
		return (int)k;
	}
	return -1;
}
