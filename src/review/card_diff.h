/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REVIEW_CARD_DIFF_H
#define KL_REVIEW_CARD_DIFF_H

#include "card/card.h"
#include "review/finding.h"

/*
 * card_diff - what changed in the meaning of a card, field by field. What makes a card promise
 * more, ask for less, or rest on less than before must be answered; the rest is noted:
 *
 *	pre		dropped, moved to `useful`, its predicate weaker or gone, its witness gone
 *	scope		wider than what verified rows cover; fewer needs, requirements, conflicts
 *	effect		a ratio raised, or a row called better measured, with no new event; one gone
 *	evidence, risk, ver	gone, or rewritten under the same event
 *	status		lowered; a retraction taken back
 *	intent, anchor, carriers	edited, where trials passed with other words
 *
 * `old` NULL: a new card. Whether what it cites is there is asked elsewhere (library.h).
 */
void kl_card_diff(struct kl_findings *out, const struct kl_card *old, const struct kl_card *now);

#endif
