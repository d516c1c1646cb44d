/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_CARRIER_H
#define KL_APPLY_CARRIER_H

#include "card/card.h"
#include "contract/surface.h"
#include "jail/jail.h"

/*
 * carrier - applies a card without a model: by its mechanical carrier for the target's language.
 *
 *	diff		by a three-way merge if the library's repository has the state that the
 *			diff was made from; without that state, or if the merge conflicts, as a
 *			patch whose context must match
 *	semantic-patch	by Coccinelle, in the compile jail, on each source
 *	transform	by a transformation of the program (rewrite/transform.h) on each source, which
 *			needs no resemblance to the code that the card was learned from
 *
 * Only sources of the contract can change: a diff that changes another file, or adds or removes a
 * file, is refused. A file of the diff is matched to the target's source with the same path,
 * otherwise to the only source with the same name, otherwise, for a diff of one file, to the only
 * source with the same suffix. The result is not judged.
 */
struct kl_carrier_try {
	struct kl_repo *repo;       /* repository to write temporary objects to */
	struct kl_repo *library;    /* repository of the library; can be `repo` */
	const struct kl_jail *jail; /* NULL if semantic patches cannot run */
	const struct kl_card *card;
	const struct kl_surface *state;
	size_t variant; /* the way in which to apply the card; see kl_carrier_variants() */
};

/* bytes of a text that says how a carrier was applied */
#define KL_CARRIER_HOW 96

/**
 * Return the number of ways in which tools can apply the card in a language: one for each diff or
 * semantic patch, and one for each value of a transformation's parameter. The ways are numbered in
 * the order of the card's carriers, except that diffs are ordered by how well they fit the state:
 * the first is the one of whose unchanged and removed lines the sources have the greatest share.
 */
size_t kl_carrier_variants(const struct kl_card *card, const char *language);
/** Check whether the way `variant` is a diff; the diffs of a card are its first ways. */
bool kl_carrier_is_diff(const struct kl_card *card, const char *language, size_t variant);
/**
 * Find the way that is the diff of the evidence with this event. The ways are those of
 * kl_carrier_apply() on `state`. Return KL_ENO if there is no such diff for the language of the
 * state.
 */
int kl_carrier_find_diff(size_t *variant, const struct kl_card *card,
			 const struct kl_surface *state, const char *event);
/**
 * Apply the card to `state` in the way try->variant, and write to `how` how it was applied. The
 * caller frees *out. Return KL_ENO, with the reason in the message, if the card has no mechanical
 * carrier for the language, or if the carrier cannot be run here, does not apply, or changes
 * nothing.
 */
int kl_carrier_apply(struct kl_surface **out, char how[KL_CARRIER_HOW],
		     const struct kl_carrier_try *try);
/** Do the same as kl_carrier_apply(), but try each way from try->variant on until one applies. */
int kl_carrier_apply_first(struct kl_surface **out, char how[KL_CARRIER_HOW],
			   const struct kl_carrier_try *try);

/** Return the card's mechanical carrier for a language, or NULL if there is none. */
const struct kl_card_carrier *kl_carrier_mechanical(const struct kl_card *card,
						    const char *language);

#endif
