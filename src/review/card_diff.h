/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REVIEW_CARD_DIFF_H
#define KL_REVIEW_CARD_DIFF_H

#include "card/card.h"
#include "review/finding.h"

/*
 * card_diff - compares two versions of a card field by field.
 *
 * A change must be answered if the card promises more, requires less or has less evidence than
 * before; all other changes are noted. These must be answered:
 *
 *	pre		dropped, moved to `useful`, predicate weaker or removed, witness removed
 *	scope		wider than 'ver' and 'effect' verify; fewer needs, requirements or conflicts
 *	effect		a row removed; a higher ratio or better verification without a new event
 *	evidence, risk, ver	removed, or rewritten under the same event
 *	status		lowered; a retraction withdrawn
 *	intent, anchor, carriers	edited after trials passed with the old text
 *
 * `old` is NULL for a new card. Whether the cited evidence exists is checked elsewhere (library.h).
 */
void kl_card_diff(struct kl_findings *out, const struct kl_card *old, const struct kl_card *now);

#endif
