/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_CARRIER_H
#define KL_APPLY_CARRIER_H

#include "card/card.h"
#include "contract/surface.h"
#include "jail/jail.h"

/*
 * carrier - applies a card without a model: its carrier for the target's language is tried on the
 * target's sources.
 *
 *	diff		a three-way merge, if the library's repository still has the state that it
 *			is from; else, and where that collides, as a patch, whose context must match
 *	semantic-patch	by Coccinelle, in the compile jail, on each source
 *
 * Only sources of the contract can change: a diff of another file, one that adds or removes a file,
 * is refused. A diff's file is the target's of that path, else the only one of that name, else, if
 * it is one file and the target has but one of that kind, that one. Whether the result is right is
 * the gate's to say.
 */
struct kl_carrier_try {
	struct kl_repo *repo;       /* scratch objects go here */
	struct kl_repo *library;    /* where the card is from; may be the same */
	const struct kl_jail *jail; /* NULL: semantic patches cannot run */
	const struct kl_card *card;
	const struct kl_surface *state;
};

/**
 * The state that the carrier makes of `state`; `*how` (borrowed) is in words what was done. KL_ENO
 * with the reason: there is no such carrier, or it does not apply here, or changes nothing.
 */
int kl_carrier_apply(struct kl_surface **out, const char **how, const struct kl_carrier_try *try);

/** The mechanical carrier for a language, or NULL. */
const struct kl_card_carrier *kl_carrier_mechanical(const struct kl_card *card,
						    const char *language);

#endif
