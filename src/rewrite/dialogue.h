/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_DIALOGUE_H
#define KL_REWRITE_DIALOGUE_H

#include <stdbool.h>

#include "base/map.h"

/*
 * dialogue - decides which turn follows which in a conversation about a kernel.
 *
 * The decision depends only on the results of the turns so far.
 *
 *	turn asks for		result				next turn
 *	a step			the 4th refused at its place	a step elsewhere
 *				refused, a repairable class	a repair, at most 3 of one idea
 *				refused for another reason	another idea
 *				unusable reply			the same again; the end after 3
 *								in a row
 *				nothing left			the end
 *	a part of a step	refused, unusable or nothing	another idea, or a step elsewhere
 *
 * A dialogue also ends after `most_turns` turns.
 */
#define KL_DIALOGUE_REPAIRS 3
#define KL_DIALOGUE_PLACE 4    /* refused steps at one place that close the place */
#define KL_DIALOGUE_UNUSABLE 3 /* consecutive unusable replies that end the dialogue */
#define KL_DIALOGUE_TURNS 96

enum kl_dialogue_kind {
	KL_DIALOGUE_STEP,
	KL_DIALOGUE_REPAIR,
	KL_DIALOGUE_ANOTHER,
	KL_DIALOGUE_ELSEWHERE,
	KL_DIALOGUE_SPLIT,
	KL_DIALOGUE_AGAIN,
	KL_DIALOGUE_END,
};

struct kl_dialogue {
	enum kl_dialogue_kind kind; /* kind of the current turn */
	/* number of the repair, from 1; 0 for the first try of an idea */
	int repair;
	int unusable; /* consecutive unusable replies so far */
	size_t turn;  /* number of the current turn, from 0 */
	size_t most_turns;
	int most_unusable;
	struct kl_map place; /* place -> int *, the number of refused steps there */
};

#define KL_DIALOGUE_INIT                                                                           \
	{                                                                                          \
		.most_turns = KL_DIALOGUE_TURNS, .most_unusable = KL_DIALOGUE_UNUSABLE, .place = { \
			.free_value = free                                                         \
		}                                                                                  \
	}

void kl_dialogue_release(struct kl_dialogue *dialogue);

/* Report the result of the current turn and advance to the next turn or to KL_DIALOGUE_END. */
void kl_dialogue_next(struct kl_dialogue *dialogue, enum kl_dialogue_kind kind);
void kl_dialogue_unusable(struct kl_dialogue *dialogue);
void kl_dialogue_refused(struct kl_dialogue *dialogue, const char *class_, const char *place);
void kl_dialogue_end(struct kl_dialogue *dialogue);
/** Advance to a turn that asks the model to split the step of the current turn. */
void kl_dialogue_split(struct kl_dialogue *dialogue);

/** Check whether at least KL_DIALOGUE_PLACE steps at this place were refused. */
bool kl_dialogue_closed(const struct kl_dialogue *dialogue, const char *place);

/** Return the name that a kind has in the first line of a turn. */
const char *kl_dialogue_name(enum kl_dialogue_kind kind);
/** Find a kind by its name; false if there is none. */
bool kl_dialogue_kind(enum kl_dialogue_kind *out, const char *name, size_t len);

#endif
