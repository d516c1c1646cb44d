/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_LOCUS_H
#define KL_LEARN_LOCUS_H

#include "card/card.h"
#include "contract/surface.h"
#include "retrieve/target.h"

/*
 * locus - tells whether a kernel has the code that a card works on.
 *
 * A card says what its code had before each step: the facts of its anchor, which all states have
 * that it was learned from, and where a step gained nothing (`useful`). A trial on a kernel without
 * this code says nothing about the card, so admit draws no such state (docs/formats.md, "Admission").
 *
 *	why = kl_locus_missing(&target, card, surface);	NULL, or why the card means nothing here
 */

/**
 * Return the reason why the target has nothing for the card to work on, or NULL if no such reason
 * is known. `surface` has the target's sources. The caller frees the result.
 */
char *kl_locus_missing(struct kl_target *target, const struct kl_card *card,
		       const struct kl_surface *surface);

#endif
