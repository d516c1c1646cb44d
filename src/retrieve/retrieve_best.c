/* SPDX-License-Identifier: Apache-2.0 */
/* retrieve_best - selects the best sound cards of an axis */
#include <string.h>

#include "retrieve/retrieve_parts.h"

#define FIRST_POOL 64 /* number of cards of an axis that are selected in the first round */

bool kl_retrieve_query_is_better(const struct kl_retrieve_query *query, int axis, uint32_t x,
				 uint32_t y)
{
	const struct kl_fit *fit_x = &query->fit[x], *fit_y = &query->fit[y];

	if (axis < KL_AXES && fit_x->best[axis] != fit_y->best[axis])
		return fit_x->best[axis] > fit_y->best[axis];
	if (fit_x->score != fit_y->score)
		return fit_x->score > fit_y->score;
	return strcmp(kl_retrieve_query_id(query, x), kl_retrieve_query_id(query, y)) < 0;
}

/* Restore the order of the heap below `i`. Its top is the worst of the selected cards. */
static void sift_down(const struct kl_retrieve_query *query, int axis, uint32_t *heap, size_t n,
		      size_t i)
{
	for (size_t k; (k = 2 * i + 1) < n; i = k) {
		uint32_t swap;

		if (k + 1 < n && kl_retrieve_query_is_better(query, axis, heap[k], heap[k + 1]))
			k++;
		if (!kl_retrieve_query_is_better(query, axis, heap[i], heap[k]))
			return;
		swap = heap[i];
		heap[i] = heap[k];
		heap[k] = swap;
	}
}

/* Compare two cards without their ids. This is fast and rules out most cards. */
static inline bool is_worse(const struct kl_fit *fit, int axis, const struct kl_fit *than)
{
	return fit->best[axis] < than->best[axis] ||
	       (fit->best[axis] == than->best[axis] && fit->score < than->score);
}

/*
 * Select the best `k` cards whose score is not 0, the best first. Return the number of selected
 * cards.
 */
static size_t select_best(const struct kl_retrieve_query *query, int axis, uint32_t *heap, size_t k)
{
	size_t n = 0;

	for (size_t i = 0; i < query->n; i++) {
		if (!query->fit[i].score ||
		    (n == k && is_worse(&query->fit[i], axis, &query->fit[heap[0]])))
			continue;
		if (n < k) {
			heap[n++] = (uint32_t)i;
			for (size_t at = n == k ? k / 2 : 0; at-- > 0;)
				sift_down(query, axis, heap, n, at);
		} else if (kl_retrieve_query_is_better(query, axis, (uint32_t)i, heap[0])) {
			heap[0] = (uint32_t)i;
			sift_down(query, axis, heap, n, 0);
		}
	}
	for (size_t at = n < k ? n / 2 : 0; at-- > 0;)
		sift_down(query, axis, heap, n, at);
	for (size_t unsorted = n; unsorted > 1; unsorted--) {
		uint32_t swap = heap[0];

		heap[0] = heap[unsorted - 1];
		heap[unsorted - 1] = swap;
		sift_down(query, axis, heap, unsorted - 1, 0);
	}
	return n;
}

/*
 * Walk down a sorted list until `per_axis` of its cards are sound and settled. Settle cards on the
 * way; this can lower their scores. Return true if no card had to be settled, so that the list is
 * still sorted.
 */
static bool walk_down(size_t *taken, struct kl_retrieve_query *query, const uint32_t *list,
		      size_t n)
{
	bool firm = true;

	*taken = 0;
	for (size_t i = 0; i < n && *taken < query->o->per_axis; i++) {
		if (!kl_retrieve_query_is_sound(query, list[i]))
			continue;
		if (query->fit[list[i]].settled) {
			++*taken;
		} else {
			kl_retrieve_query_settle(query, list[i]);
			firm = false;
		}
	}
	return firm;
}

/*
 * Sort the list and drop cards whose score is now 0. Return the number of cards left. Insertion
 * sort is fast here, because the list is short and nearly sorted.
 */
static size_t put_in_order(const struct kl_retrieve_query *query, int axis, uint32_t *list,
			   size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t card = list[i];
		size_t k = kept;

		if (!query->fit[card].score)
			continue;
		for (; k > 0 && kl_retrieve_query_is_better(query, axis, card, list[k - 1]); k--)
			list[k] = list[k - 1];
		list[k] = card;
		kept++;
	}
	return kept;
}

/*
 * The rank that the worst card of the list had when it was selected. No card outside the list ranks
 * above it.
 */
struct limit {
	int32_t best, score;
	const char *id;
};

static struct limit limit_of(const struct kl_retrieve_query *query, int axis, uint32_t card)
{
	return (struct limit){ query->fit[card].best[axis], query->fit[card].score,
			       kl_retrieve_query_id(query, card) };
}

/*
 * Count the cards at the front of the list that rank before every card outside the list. A card
 * outside cannot rank above the limit, because settling only lowers ranks.
 */
static size_t count_ahead(const struct kl_retrieve_query *query, int axis, const uint32_t *list,
			  size_t n, const struct limit *limit)
{
	size_t i = 0;

	for (; i < n; i++) {
		const struct kl_fit *fit = &query->fit[list[i]];

		if (fit->best[axis] < limit->best)
			break;
		if (fit->best[axis] > limit->best)
			continue;
		if (fit->score < limit->score ||
		    (fit->score == limit->score &&
		     strcmp(kl_retrieve_query_id(query, list[i]), limit->id) > 0))
			break;
	}
	return i;
}

/*
 * Settle cards from the top of the list and sort it again, until its best cards are settled. Return
 * false if cards outside the list may now be better, so that cards must be selected again. `whole`:
 * the list has all cards whose score is not 0.
 */
static bool settle_down(size_t *taken, struct kl_retrieve_query *query, int axis, uint32_t *list,
			size_t *n, bool whole)
{
	const struct limit limit = *n ? limit_of(query, axis, list[*n - 1]) : (struct limit){ 0 };
	bool first = true;

	for (size_t ahead = *n; !walk_down(taken, query, list, ahead); first = false) {
		*n = put_in_order(query, axis, list, *n);
		ahead = whole ? *n : count_ahead(query, axis, list, *n, &limit);
	}
	return first || whole || *taken == query->o->per_axis;
}

/* If too few of the selected cards are sound, select more. */
void kl_retrieve_query_mark_axis(struct kl_retrieve_query *query, int axis, uint8_t *top)
{
	size_t pool = FIRST_POOL;

	for (;;) {
		KL_AUTO(kl_freep) uint32_t *list = kl_calloc(pool + 1, sizeof(*list));
		size_t taken, n = select_best(query, axis, list, pool);

		if (!settle_down(&taken, query, axis, list, &n, n < pool))
			continue;
		if (taken < query->o->per_axis && n == pool) {
			pool *= 16;
			continue;
		}
		for (size_t i = 0, marked = 0; i < n && marked < taken; i++)
			if (query->fit[list[i]].sound == 1) {
				top[list[i]] |= (uint8_t)(1u << axis);
				marked++;
			}
		return;
	}
}
