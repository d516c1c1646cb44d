/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_RETRIEVE_RETRIEVE_PARTS_H
#define KL_RETRIEVE_RETRIEVE_PARTS_H

#include "retrieve/retrieve.h"

/*
 * retrieve_parts - the data of one retrieval, shared by the files retrieve*.c.
 *
 * A library can have very many cards, so a query does little for each: results for strings, points
 * and priors, which many cards share, are computed once and kept. Sound predicates, and the cards
 * that meet a card's requirements, are evaluated only for cards that can be among the best, best
 * first.
 */
struct kl_fit {
	int32_t best[KL_AXES]; /* millionths: the best row for each axis */
	int32_t score;         /* millionths; an upper bound unless `settled` */
	int32_t row;           /* the best row; -1: none counts */
	int64_t product;       /* that row's case * language * platform, in 10^-18 */
	int8_t sound;          /* sound predicates: 0 not evaluated, 1 none is false, 2 one is */
	bool settled;          /* the prior axis is exact, not only a bound */
	bool wanted;           /* its status was requested */
};

struct kl_givers;

struct kl_retrieve_query {
	const struct kl_index *ix;
	struct kl_target *t;
	const struct kl_retrieve_opts *o;
	size_t n;           /* cards */
	struct kl_fit *fit; /* of each card */
	/*
	 * Computed on demand, 0 if not yet computed: most entries are never needed, and calloc()
	 * leaves their pages untouched.
	 */
	int32_t *point;               /* by point: similarity + 1 */
	int32_t *language, *platform; /* by string: similarity + 1 */
	/* by string (a predicate): truth + 1 */
	int8_t *test;
	int8_t *has;     /* by string: 1 the target does not have it, 2 it has it */
	int8_t *able;    /* by string (a capability): 1 the platform lacks it, 2 it has it */
	int8_t *closure; /* by prior: -2 not computed, else the result of kl_close() */
	/* providers of each string: built on first use */
	uint32_t *cards_of, *cards_at; /* cards by prior: cards_at[p] .. cards_at[p + 1] */
	uint32_t *givers, *givers_at;  /* priors by the string that they provide */
	int32_t *card_by_id;           /* by string: the card of that id, or -1 */
	struct kl_givers **best;       /* by string: its best providers; NULL: not computed */
	uint32_t *asked;               /* strings for which `best` is computed */
	size_t nasked, asked_alloc;
};

/**
 * Compute the similarities of all wanted cards, in threads. The prior axis of a card with unmet
 * requirements is only an upper bound.
 */
void kl_measure(struct kl_retrieve_query *query);
/** Set the prior axis of a card (millionths) and update its score. */
void kl_measure_prior(struct kl_retrieve_query *query, size_t card, int64_t prior);
/** The case, language and platform axes of a card's best row, in millionths. */
void kl_measure_row(int64_t axis[3], struct kl_retrieve_query *query, size_t card);
/** The string number of a needed capability that the target's platform lacks; -1: none. */
int64_t kl_measure_lacking(struct kl_retrieve_query *query, uint32_t prior);

/* Relaxed is enough: threads that compute the same entry at once store the same value. */
#define KL_KEEP(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELAXED)
#define KL_KEPT(place) __atomic_load_n(&(place), __ATOMIC_RELAXED)

/** Compute and keep query->has[string]: 1 no, 2 yes. */
int8_t kl_retrieve_query_has_new(struct kl_retrieve_query *query, uint32_t string);

/** True if the target has the fact, trait or card that the string names. */
static inline bool kl_retrieve_query_has(struct kl_retrieve_query *query, uint32_t string)
{
	int8_t has = KL_KEPT(query->has[string]);

	return (has ? has : kl_retrieve_query_has_new(query, string)) == 2;
}

/** The first string of a list that the target has (`there`) or lacks (not `there`); -1: none. */
int64_t kl_retrieve_query_first(struct kl_retrieve_query *query, struct kl_index_list list,
				bool there);
/** True if the target already has the card itself, or everything that it provides. */
bool kl_retrieve_query_is_done(struct kl_retrieve_query *query, const struct kl_index_card *card);
/** True if no sound predicate of the card is false. */
bool kl_retrieve_query_is_sound(struct kl_retrieve_query *query, size_t card);

/**
 * Find the fewest further cards that meet all requirements of a prior. Returns their number, at
 * most KL_CLOSURE_MAX, or -1 if no set is found; for each requirement the best 16 providers are
 * tried. `card` (can be NULL) receives them in the order to apply.
 */
int kl_close(struct kl_retrieve_query *query, uint32_t prior, size_t card[KL_CLOSURE_MAX]);
void kl_close_release(struct kl_retrieve_query *query);

#endif
