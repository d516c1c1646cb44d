/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_RETRIEVE_RETRIEVE_PARTS_H
#define KL_RETRIEVE_RETRIEVE_PARTS_H

#include "retrieve/retrieve.h"

/*
 * retrieve_parts - what the files of retrieval share: one question and what is known of each card
 * so far. Cards are many and questions quick: answers about strings and points, which cards have
 * in common, are kept; sound predicates and what closes a card's requirements are worked out for
 * those alone that may be among the best, best first.
 */
struct kl_fit {
	int32_t best[KL_AXES]; /* millionths: the best row for each axis */
	int32_t score;         /* at most this where it is not settled */
	int32_t row;           /* the best row of all; -1: none that counts */
	int64_t product;       /* of its case, language and platform, in 10^-18 */
	int8_t sound;          /* 0 not asked, 1 not false, 2 false */
	bool settled;          /* the prior axis is known, not only bounded */
	bool wanted;           /* of a status that was asked for */
};

struct kl_givers;

struct kl_retrieve_query {
	const struct kl_index *ix;
	struct kl_target *t;
	const struct kl_retrieve_opts *o;
	size_t n;           /* cards */
	struct kl_fit *fit; /* of each card */
	/* zeros are pages that nobody has touched: most of these are never asked for */
	int32_t *point;               /* of each point: similarity + 1, 0 not asked */
	int32_t *language, *platform; /* of each string, likewise */
	/* of each string, a predicate: 0 not asked, else truth + 1 */
	int8_t *test;
	int8_t *has;     /* of each string: 0 not asked, 1 no, 2 the target has it */
	int8_t *able;    /* of each string, a capability: likewise */
	int8_t *closure; /* of each prior: -2 not asked, else what kl_close() says */
	/* who provides what: made when first asked */
	uint32_t *cards_of, *cards_at; /* cards by their prior: cards_at[p] .. cards_at[p + 1] */
	uint32_t *givers, *givers_at;  /* priors by the string that they provide */
	int32_t *card_by_id;           /* of each string: the card of that id, -1 */
	struct kl_givers **best;       /* of each string: who to ask for it; NULL: not asked yet */
	uint32_t *asked;               /* strings of which `best` is known */
	size_t nasked, asked_alloc;
};

/**
 * Similarities of all wanted cards; on the prior axis, where there is something to close, a
 * bound.
 */
void kl_measure(struct kl_retrieve_query *query);
/** Set the prior axis, and with it the score. */
void kl_measure_prior(struct kl_retrieve_query *query, size_t card, int64_t prior);
/** The three axes of a card's best row. */
void kl_measure_row(int64_t axis[3], struct kl_retrieve_query *query, size_t card);
/** A capability that it needs and the target's platform has not, as a string's number; -1: none. */
int64_t kl_measure_lacking(struct kl_retrieve_query *query, uint32_t prior);

/* Threads may find the same answer at once; they find the same one. */
#define KL_KEEP(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELAXED)
#define KL_KEPT(place) __atomic_load_n(&(place), __ATOMIC_RELAXED)

/** The answer, asked for the first time: 1 no, 2 yes. */
int8_t kl_retrieve_query_has_new(struct kl_retrieve_query *query, uint32_t string);

/** Has the target the fact, trait or card of that string? */
static inline bool kl_retrieve_query_has(struct kl_retrieve_query *query, uint32_t string)
{
	int8_t int8 = KL_KEPT(query->has[string]);

	return (int8 ? int8 : kl_retrieve_query_has_new(query, string)) == 2;
}

/** The first of a list that is there, or is not; -1: none. */
int64_t kl_retrieve_query_first(struct kl_retrieve_query *query, struct kl_index_list list,
				bool there);
/** Is what the card brings there, or the card itself? */
bool kl_retrieve_query_is_done(struct kl_retrieve_query *query, const struct kl_index_card *card);
/** No sound predicate of the card is false. */
bool kl_retrieve_query_is_sound(struct kl_retrieve_query *query, size_t card);

/**
 * How many cards, at most KL_CLOSURE_MAX, it takes until all that a prior requires is there; -1:
 * more, or nothing provides it. `card` (may be NULL) gets them in the order to apply.
 */
int kl_close(struct kl_retrieve_query *query, uint32_t prior, size_t card[KL_CLOSURE_MAX]);
void kl_close_release(struct kl_retrieve_query *query);

#endif
