/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_RETRIEVE_RETRIEVE_PARTS_H
#define KL_RETRIEVE_RETRIEVE_PARTS_H

#include "retrieve/retrieve.h"

/*
 * retrieve_parts - the data of one retrieval, shared by the files retrieve*.c.
 *
 * A library can have very many cards, so a query does little work per card: results for strings,
 * points and priors, which many cards share, are computed once and stored. Sound predicates are
 * evaluated, and required cards are sought, only for cards that can be among the best, and for the
 * best of them first.
 */
struct kl_fit {
	int32_t best[KL_AXES]; /* millionths: the best value on each axis, over all rows */
	int32_t score;         /* millionths; only an upper bound unless `settled` */
	int64_t next;          /* millionths: the value by KL_ORDER_NEXT */
	int32_t row; /* index of the best row among the card's rows; -1 if no row counts */
	/* product of that row's case, language and platform similarities, in units of 10^-18 */
	int64_t product;
	/*
	 * the card's sound predicates: 0 if not evaluated, 1 if none is false, 2 if at least one is
	 * false
	 */
	int8_t sound;
	bool settled; /* the prior axis is exact; false if it is an upper bound */
	bool wanted;  /* the card's status is in `statuses` */
	bool listed;  /* by KL_ORDER_NEXT: the card is not ruled out */
};

struct kl_givers;

struct kl_retrieve_query {
	const struct kl_index *ix;
	struct kl_target *t;
	const struct kl_retrieve_opts *o;
	size_t n;           /* number of cards */
	struct kl_fit *fit; /* results per card */
	/*
	 * Results that are computed when they are first needed; 0 if not computed yet. Most entries
	 * are never needed, and calloc() does not touch their memory pages.
	 */
	int32_t *point;               /* by number of a point: similarity + 1 */
	int32_t *language, *platform; /* by number of a string: similarity + 1 */
	/* by number of a string that is a predicate: truth + 1 */
	int8_t *test;
	int8_t *useful; /* by number of a string that is a `useful` predicate: truth + 1 */
	/* by number of a string: 1 if the target lacks it, 2 if the target has it */
	int8_t *has;
	/*
	 * by number of a string that is a capability: 1 if the platform lacks it, 2 if the platform
	 * has it
	 */
	int8_t *able;
	int8_t *closure; /* by number of a prior: result of kl_close(), or -2 if not computed */
	/* the cards that provide each string; these tables are built on first use: */
	/* cards of prior p: entries cards_at[p] to cards_at[p + 1] - 1 of `cards_of` */
	uint32_t *cards_of, *cards_at;
	/* priors that provide string s: entries givers_at[s] to givers_at[s + 1] - 1 of `givers` */
	uint32_t *givers, *givers_at;
	int32_t *card_by_id; /* by number of a string: the card with that id, or -1 */
	/* by number of a string: its best providers; NULL if not computed */
	struct kl_givers **best;
	uint32_t *asked; /* numbers of the strings for which `best` is computed */
	size_t nasked, asked_alloc;
};

/**
 * Compute the similarities of all cards with a status in `statuses`, in several threads. If a card
 * has unmet requirements, its prior axis is only an upper bound.
 */
void kl_measure(struct kl_retrieve_query *query);
/** Set the prior axis of a card (millionths) and update its score. */
void kl_measure_prior(struct kl_retrieve_query *query, size_t card, int64_t prior);
/** Get the case, language and platform axes of a card's best row, in millionths. */
void kl_measure_row(int64_t axis[3], struct kl_retrieve_query *query, size_t card);
/** Return the product of a row's case, language and platform similarities, from 0 to 1. */
double kl_measure_likeness(struct kl_retrieve_query *query, const struct kl_index_row *row);
/** Return the string number of a needed capability that the target's platform lacks; -1 if none. */
int64_t kl_measure_lacking(struct kl_retrieve_query *query, uint32_t prior);

/*
 * Relaxed memory order is enough: if several threads compute the same entry at once, all store the
 * same value.
 */
#define KL_KEEP(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELAXED)
#define KL_KEPT(place) __atomic_load_n(&(place), __ATOMIC_RELAXED)

/**
 * Compute and store query->has[string], and return it: 1 if the target lacks the string, 2 if the
 * target has it.
 */
int8_t kl_retrieve_query_has_new(struct kl_retrieve_query *query, uint32_t string);

/** Check that the target has the fact, trait or card that the string names. */
static inline bool kl_retrieve_query_has(struct kl_retrieve_query *query, uint32_t string)
{
	int8_t has = KL_KEPT(query->has[string]);

	return (has ? has : kl_retrieve_query_has_new(query, string)) == 2;
}

/**
 * Return the number of the first string of a list that the target has or, if `there` is false,
 * lacks; -1 if there is none.
 */
int64_t kl_retrieve_query_first(struct kl_retrieve_query *query, struct kl_index_list list,
				bool there);
/** Check whether the target has the card itself already, or everything that the card provides. */
bool kl_retrieve_query_is_done(struct kl_retrieve_query *query, const struct kl_index_card *card);
/** Return the id of a card. */
const char *kl_retrieve_query_id(const struct kl_retrieve_query *query, size_t card);
/**
 * Check that no sound predicate of the card is false, of those that say anything about the target.
 */
bool kl_retrieve_query_is_sound(struct kl_retrieve_query *query, size_t card);
/** Check that no `useful` predicate of the card is false at the target's case. */
bool kl_retrieve_query_is_useful(struct kl_retrieve_query *query, size_t card);
/** Make the prior axis of a card exact if it is only a bound. This can lower the card's score. */
void kl_retrieve_query_settle(struct kl_retrieve_query *query, size_t card);

/**
 * Check that card x is better than card y: first by its value on the axis (unless `axis` is
 * KL_AXES), then by score, then by id.
 */
bool kl_retrieve_query_is_better(const struct kl_retrieve_query *query, int axis, uint32_t x,
				 uint32_t y);
/**
 * List the cards that may come next in the order `next`, best first, and set their `next`. A score
 * of 0 does not rule a card out, if only its requirements are not met.
 * `card` has query->n entries. Return the number of listed cards.
 */
size_t kl_retrieve_query_next(struct kl_retrieve_query *query, uint32_t *card);
void kl_retrieved_release(struct kl_retrieved *retrieved);
/** Settle the best sound cards of an axis, and set bit `axis` of their entries in `top`. */
void kl_retrieve_query_mark_axis(struct kl_retrieve_query *query, int axis, uint8_t *top);

/**
 * Find the smallest set of cards that, applied first, meets all requirements of a prior. For each
 * requirement, only the best 16 providers are tried. Return the number of cards, at most
 * KL_CLOSURE_MAX; -1 if no such set was found. `card` (may be NULL) gets the cards in the order in
 * which to apply them.
 */
int kl_close(struct kl_retrieve_query *query, uint32_t prior, size_t card[KL_CLOSURE_MAX]);
void kl_close_release(struct kl_retrieve_query *query);

#endif
