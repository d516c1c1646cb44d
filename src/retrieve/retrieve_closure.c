/* SPDX-License-Identifier: Apache-2.0 */
/* retrieve_closure - finds the further cards that a card requires, in the order to apply them */
#include <stdlib.h>
#include <string.h>

#include "retrieve/retrieve_parts.h"

#define MAX_OPEN 32   /* requirements open at once */
#define MAX_GIVERS 16 /* cards that are tried for one requirement, the best ones */

/* --- who provides what ---------------------------------------------------------- */

static void index_cards(struct kl_asking *asking)
{
	size_t np = kl_index_npriors(asking->ix);
	uint32_t *next;

	asking->cards_at = kl_calloc(np + 2, sizeof(*asking->cards_at));
	asking->cards_of = kl_calloc(asking->n + 1, sizeof(*asking->cards_of));
	for (size_t i = 0; i < asking->n; i++)
		asking->cards_at[kl_index_card(asking->ix, i)->prior + 1]++;
	for (size_t at = 0; at < np; at++)
		asking->cards_at[at + 1] += asking->cards_at[at];
	next = kl_calloc(np + 1, sizeof(*next));
	memcpy(next, asking->cards_at, np * sizeof(*next));
	for (size_t i = 0; i < asking->n; i++)
		asking->cards_of[next[kl_index_card(asking->ix, i)->prior]++] = (uint32_t)i;
	free(next);
}

static void index_givers(struct kl_asking *asking)
{
	size_t np = kl_index_npriors(asking->ix), ns = kl_index_nstrings(asking->ix), total = 0;
	uint32_t *next;

	asking->givers_at = kl_calloc(ns + 2, sizeof(*asking->givers_at));
	for (size_t at = 0; at < np; at++) {
		struct kl_index_list list = kl_index_prior(asking->ix, at)->provides;
		const uint32_t *item = kl_index_items(asking->ix, list);

		total += list.n;
		for (size_t i = 0; i < list.n; i++)
			asking->givers_at[item[i] + 1]++;
	}
	for (size_t step = 0; step < ns; step++)
		asking->givers_at[step + 1] += asking->givers_at[step];
	asking->givers = kl_calloc(total + 1, sizeof(*asking->givers));
	next = kl_calloc(ns + 1, sizeof(*next));
	memcpy(next, asking->givers_at, ns * sizeof(*next));
	for (size_t at = 0; at < np; at++) {
		struct kl_index_list list = kl_index_prior(asking->ix, at)->provides;
		const uint32_t *item = kl_index_items(asking->ix, list);

		for (size_t i = 0; i < list.n; i++)
			asking->givers[next[item[i]]++] = (uint32_t)at;
	}
	free(next);
	asking->card_by_id = kl_malloc((ns + 1) * sizeof(*asking->card_by_id));
	memset(asking->card_by_id, -1, (ns + 1) * sizeof(*asking->card_by_id));
	for (size_t i = 0; i < asking->n; i++)
		asking->card_by_id[kl_index_card(asking->ix, i)->id] = (int32_t)i;
}

void kl_close_release(struct kl_asking *asking)
{
	for (size_t i = 0; i < asking->nasked; i++)
		free(asking->best[asking->asked[i]]);
	free(asking->asked);
	free(asking->best);
	free(asking->cards_at);
	free(asking->cards_of);
	free(asking->givers_at);
	free(asking->givers);
	free(asking->card_by_id);
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
static double rank_of(const struct kl_asking *asking, size_t card)
{
	const struct kl_index_card *entry = kl_index_card(asking->ix, card);

	return (double)asking->fit[card].product * (double)(entry->passed + 1) /
	       (double)(entry->trials + 2);
}

static bool any_there(struct kl_asking *asking, struct kl_index_list list)
{
	const uint32_t *item = kl_index_items(asking->ix, list);

	for (size_t i = 0; i < list.n; i++)
		if (kl_asking_has(asking, item[i]))
			return true;
	return false;
}

/* Could it be applied to this target at all? */
static bool may_give(struct kl_asking *asking, size_t card)
{
	return asking->fit[card].product > 0 &&
	       !any_there(asking, kl_index_prior(asking->ix, kl_index_card(asking->ix, card)->prior)
					  ->conflicts);
}

/* best first, ties by id */
static bool is_before(const struct kl_asking *asking, const struct giver *other,
		      const struct giver *giver)
{
	if (other->rank != giver->rank)
		return other->rank > giver->rank;
	return strcmp(kl_index_string(asking->ix, kl_index_card(asking->ix, other->card)->id),
		      kl_index_string(asking->ix, kl_index_card(asking->ix, giver->card)->id)) < 0;
}

static size_t insert_giver(const struct kl_asking *asking, struct giver *giver, size_t n,
			   struct giver one)
{
	size_t i = n < MAX_GIVERS ? n : MAX_GIVERS;

	for (size_t k = 0; k < n; k++)
		if (giver[k].card == one.card)
			return n;
	for (; i > 0 && is_before(asking, &one, &giver[i - 1]); i--)
		if (i < MAX_GIVERS)
			giver[i] = giver[i - 1];
	if (i < MAX_GIVERS)
		giver[i] = one;
	return n < MAX_GIVERS ? n + 1 : n;
}

/* Sound predicates are asked of the best alone, so that most cards' are never read. */
static size_t drop_unsound(struct kl_asking *asking, struct giver *giver, size_t n)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++)
		if (kl_asking_is_sound(asking, giver[i].card))
			giver[left++] = giver[i];
	return left;
}

/* They are the same for whoever asks. */
static const struct kl_givers *find_givers(struct kl_asking *asking, uint32_t string)
{
	struct giver givers[MAX_GIVERS];
	struct kl_givers *out;
	size_t n = 0;

	if (!asking->cards_at) {
		index_cards(asking);
		index_givers(asking);
		asking->best = kl_calloc(kl_index_nstrings(asking->ix) + 1, sizeof(*asking->best));
	}
	if (asking->best[string])
		return asking->best[string];
	if (asking->card_by_id[string] >= 0 && may_give(asking, (size_t)asking->card_by_id[string]))
		n = insert_giver(
			asking, givers, n,
			(struct giver){ (uint32_t)asking->card_by_id[string],
					rank_of(asking, (size_t)asking->card_by_id[string]) });
	for (uint32_t i = asking->givers_at[string]; i < asking->givers_at[string + 1]; i++) {
		uint32_t at = asking->givers[i];

		for (uint32_t k = asking->cards_at[at]; k < asking->cards_at[at + 1]; k++)
			if (may_give(asking, asking->cards_of[k]))
				n = insert_giver(
					asking, givers, n,
					(struct giver){ asking->cards_of[k],
							rank_of(asking, asking->cards_of[k]) });
	}
	out = kl_calloc(1, sizeof(*out));
	out->n = drop_unsound(asking, givers, n);
	for (size_t i = 0; i < out->n; i++)
		out->card[i] = givers[i].card;
	KL_GROW(asking->asked, asking->nasked + 1, asking->asked_alloc);
	asking->asked[asking->nasked++] = string;
	return asking->best[string] = out;
}

/* --- the search ----------------------------------------------------------------------- */

struct open_set {
	uint32_t v[MAX_OPEN];
	size_t n;
};

static bool is_listed(const struct kl_asking *asking, struct kl_index_list list, uint32_t string)
{
	const uint32_t *item = kl_index_items(asking->ix, list);

	for (size_t i = 0; i < list.n; i++)
		if (item[i] == string)
			return true;
	return false;
}

static bool gives_fact(const struct kl_asking *asking, size_t card, uint32_t string)
{
	const struct kl_index_card *entry = kl_index_card(asking->ix, card);

	return entry->id == string ||
	       is_listed(asking, kl_index_prior(asking->ix, entry->prior)->provides, string);
}

/* What a prior still requires, given the target and the cards chosen; false: too much. */
static bool add_open(struct kl_asking *asking, struct open_set *open, uint32_t prior,
		     const size_t *chosen, size_t n)
{
	struct kl_index_list list = kl_index_prior(asking->ix, prior)->requires;
	const uint32_t *item = kl_index_items(asking->ix, list);

	for (size_t i = 0; i < list.n; i++) {
		bool met = kl_asking_has(asking, item[i]);

		for (size_t k = 0; k < n && !met; k++)
			met = gives_fact(asking, chosen[k], item[i]);
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
static uint32_t first_of(const struct kl_asking *asking, const struct open_set *open)
{
	uint32_t best = open->v[0];

	for (size_t i = 1; i < open->n; i++)
		if (strcmp(kl_index_string(asking->ix, open->v[i]),
			   kl_index_string(asking->ix, best)) < 0)
			best = open->v[i];
	return best;
}

static bool any_listed(const struct kl_asking *asking, struct kl_index_list in,
		       struct kl_index_list list)
{
	const uint32_t *item = kl_index_items(asking->ix, list);

	for (size_t i = 0; i < list.n; i++)
		if (is_listed(asking, in, item[i]))
			return true;
	return false;
}

/* Does one bring what the other cannot be with? */
static bool cards_clash(const struct kl_asking *asking, uint32_t prior, uint32_t other)
{
	const struct kl_index_prior *index_prior = kl_index_prior(asking->ix, prior),
				    *other_prior = kl_index_prior(asking->ix, other);

	return any_listed(asking, other_prior->conflicts, index_prior->provides) ||
	       any_listed(asking, index_prior->conflicts, other_prior->provides);
}

static bool clash_any(const struct kl_asking *asking, size_t card, uint32_t for_prior,
		      const size_t *chosen, size_t n)
{
	uint32_t prior = kl_index_card(asking->ix, card)->prior;

	if (cards_clash(asking, prior, for_prior))
		return true;
	for (size_t k = 0; k < n; k++)
		if (chosen[k] == card ||
		    cards_clash(asking, prior, kl_index_card(asking->ix, chosen[k])->prior))
			return true;
	return false;
}

static bool is_ready(struct kl_asking *asking, size_t card, const size_t *placed, size_t n)
{
	struct open_set open = { .n = 0 };

	return add_open(asking, &open, kl_index_card(asking->ix, card)->prior, placed, n) &&
	       !open.n;
}

/* Each after what it stands on; false: they stand on each other, and none can be first. */
static bool order_cards(struct kl_asking *asking, size_t *card, const size_t *chosen, size_t n)
{
	bool done[KL_CLOSURE_MAX] = { false };

	for (size_t at = 0; at < n; at++) {
		size_t pick = n;

		for (size_t i = n; i-- > 0 && pick == n;)
			if (!done[i] && is_ready(asking, chosen[i], card, at))
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
static bool search_closure(struct kl_asking *asking, struct closing *closing,
			   const struct open_set *open, size_t n, size_t left)
{
	const struct kl_givers *givers;

	if (!open->n)
		return order_cards(asking, closing->ordered, closing->chosen, n);
	if (!left)
		return false;
	givers = find_givers(asking, first_of(asking, open));
	for (size_t i = 0; i < givers->n; i++) {
		struct open_set next = { .n = 0 };

		if (clash_any(asking, givers->card[i], closing->prior, closing->chosen, n))
			continue;
		closing->chosen[n] = givers->card[i];
		for (size_t k = 0; k < open->n; k++)
			if (!gives_fact(asking, givers->card[i], open->v[k]))
				next.v[next.n++] = open->v[k];
		if (add_open(asking, &next, kl_index_card(asking->ix, givers->card[i])->prior,
			     closing->chosen, n + 1) &&
		    search_closure(asking, closing, &next, n + 1, left - 1))
			return true;
	}
	return false;
}

int kl_close(struct kl_asking *asking, uint32_t prior, size_t card[KL_CLOSURE_MAX])
{
	struct open_set open = { .n = 0 };
	struct closing closing = { .prior = prior };

	if (!card && asking->closure[prior] != -2)
		return asking->closure[prior];
	asking->closure[prior] = -1;
	if (!add_open(asking, &open, prior, NULL, 0))
		return -1;
	for (size_t k = 0; k <= KL_CLOSURE_MAX; k++) {
		if (!search_closure(asking, &closing, &open, 0, k))
			continue;
		if (card)
			memcpy(card, closing.ordered, k * sizeof(*card));
		asking->closure[prior] = (int8_t)k;
		return (int)k;
	}
	return -1;
}
