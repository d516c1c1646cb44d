/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_DIALOGUE_H
#define KL_REWRITE_DIALOGUE_H

#include <stdbool.h>

#include "base/map.h"

/*
 * dialogue - which turn follows which in a conversation about a kernel. Pure: given the same
 * turns in the same order it decides the same.
 *
 *	asked for		result				followed by
 *	a step			refused, class repairable	a repair, at most 3
 *				refused otherwise, or the 3rd	another idea; at a place that had 4
 *								refusals: somewhere else
 *				a reply that cannot be used	the same again; the 3rd in a row ends it
 *				nothing left			the end
 *	to split a step		anything but a part		another idea
 */
#define KL_DIALOGUE_REPAIRS 3
#define KL_DIALOGUE_PLACE 4    /* refusals at one place */
#define KL_DIALOGUE_UNUSABLE 3 /* replies in a row */
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
	enum kl_dialogue_kind kind; /* of the present turn */
	int repair;                 /* its number, from 1; 0: the first try of an idea */
	int unusable;               /* replies in a row */
	size_t turn;                /* from 0 */
	size_t most_turns;
	int most_unusable;
	struct kl_map place; /* place -> int *, refusals there */
};

#define KL_DIALOGUE_INIT                                                                           \
	{                                                                                          \
		.most_turns = KL_DIALOGUE_TURNS, .most_unusable = KL_DIALOGUE_UNUSABLE, .place = { \
			.free_value = free                                                         \
		}                                                                                  \
	}

void kl_dialogue_release(struct kl_dialogue *dialogue);

/* Result of the present turn; each sets the kind of the next one. */
void kl_dialogue_next(struct kl_dialogue *dialogue, enum kl_dialogue_kind kind);
void kl_dialogue_unusable(struct kl_dialogue *dialogue);
void kl_dialogue_refused(struct kl_dialogue *dialogue, const char *class_, const char *place);
void kl_dialogue_end(struct kl_dialogue *dialogue);
/** The next turn asks how the step of this one may be split. */
void kl_dialogue_split(struct kl_dialogue *dialogue);

/** Did this place have its refusals? */
bool kl_dialogue_closed(const struct kl_dialogue *dialogue, const char *place);

const char *kl_dialogue_name(enum kl_dialogue_kind kind);
/** False: no kind has that name. */
bool kl_dialogue_kind(enum kl_dialogue_kind *out, const char *name, size_t len);

#endif
