/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SKILL_RETRIEVE_PARTS_H
#define KL_SKILL_RETRIEVE_PARTS_H

#include "skill/retrieve.h"

/*
 * retrieve_parts - what the files of retrieval share: one question and what is known of each card
 * so far. Answers about strings and priors, which cards have in common, are kept, and most are
 * never asked.
 */
struct kl_fit {
	int64_t best[KL_AXES];		/* the prior axis is one for all rows */
	int64_t axis[KL_AXES];		/* of the best row */
	int64_t score;
	int32_t row;			/* -1: none that counts */
};

struct kl_asking {
	const struct kl_index *ix;
	struct kl_target *t;
	const struct kl_retrieve_opts *o;
	size_t n;			/* cards */
	struct kl_fit *fit;		/* of each card */
	int8_t *sound;			/* of each card: 0 not asked, 1 not false, 2 false */
	int8_t *test;			/* of each string, a predicate: 0 not asked, else truth + 1 */
	int8_t *has;			/* of each string: 0 not asked, 1 no, 2 the target has it */
	int32_t *language, *platform;	/* of each string: similarity, -1 not asked */
	int32_t *point;			/* of each point, likewise */
	int8_t *closure;		/* of each prior: -2 not asked, else what kl_close() says */
	/* who provides what: made when first asked */
	uint32_t *cards_of, *cards_at;	/* cards by their prior: cards_at[p] .. cards_at[p + 1] */
	uint32_t *givers, *givers_at;	/* priors by the string that they provide */
	int32_t *card_by_id;		/* of each string: the card of that id, -1 */
};

/** May it be taken: asked-for status? */
bool kl_asking_wants(const struct kl_asking *a, size_t card);
/** Has the target the fact, trait or card of that string? */
bool kl_asking_has(struct kl_asking *a, uint32_t string);
/** No sound predicate of the card is false. */
bool kl_asking_is_sound(struct kl_asking *a, size_t card);

/**
 * How many cards, at most KL_CLOSURE_MAX, it takes until all that a prior requires is there; -1:
 * more, or nothing provides it. `card` (may be NULL) gets them in the order to apply.
 */
int kl_close(struct kl_asking *a, uint32_t prior, size_t card[KL_CLOSURE_MAX]);
void kl_close_release(struct kl_asking *a);

#endif
