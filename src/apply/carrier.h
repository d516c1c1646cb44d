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
 *	diff		a three-way merge if the library's repository has the state from which the
 *			diff was made; without it, or if the merge conflicts, as a patch whose
 *			context must match
 *	semantic-patch	by Coccinelle, in the compile jail, on each source
 *
 * Only sources of the contract can change: a diff that changes another file, or adds or removes
 * one, is refused. A file of the diff is matched to the target's source with the same path, else to
 * the only one with the same name, else, for a diff of one file, to the only one with the same
 * suffix. The result is not judged here.
 */
struct kl_carrier_try {
	struct kl_repo *repo;       /* scratch objects go here */
	struct kl_repo *library;    /* the card's repository; can be `repo` */
	const struct kl_jail *jail; /* NULL: semantic patches cannot run */
	const struct kl_card *card;
	const struct kl_surface *state;
};

/**
 * Apply the card's carrier to `state`; `*how` (a constant) describes how it was applied.
 * KL_ENO with the reason: there is no mechanical carrier for the language, it cannot be run here,
 * it does not apply, or it changes nothing.
 */
int kl_carrier_apply(struct kl_surface **out, const char **how, const struct kl_carrier_try *try);

/** Find the mechanical carrier for a language, or NULL. */
const struct kl_card_carrier *kl_carrier_mechanical(const struct kl_card *card,
						    const char *language);

#endif
