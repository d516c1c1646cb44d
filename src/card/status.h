/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_STATUS_H
#define KL_CARD_STATUS_H

#include "card/card.h"

/*
 * status - computes a card's status from its trials. A trial counts if it passed, is not foreign,
 * was isolated, and its state is not nearly the code of the evidence. A trial by a model must also
 * record its tokens, which show that all arms had the same budget.
 *
 *	retracted	`ver` has a retraction
 *	admitted	a trial counts that is farther than other-lineage, or trials of two states
 *			count that are at other-lineage
 *	provisional	any other trial counts
 *	hypothesis	no trial counts
 *
 * A trial's level is computed from its state and the card's evidence when the trial is made
 * (learn/level.h). It is stored, because evidence from the trial's lineage can be added to
 * the card later. Trials of an earlier rule (`rule`) have levels by names; of these one trial at
 * other-lineage admits, and tokens are not asked for.
 */
#define KL_STATUS_STATES 2 /* states that must have a trial at other-lineage */

enum kl_card_status kl_status_of(const struct kl_card *card);

/** Check whether the trial counts, as explained above. */
bool kl_status_counts(const struct kl_card_trial *trial);

/**
 * For the estimate (passed + 1) / (trials + 2): set *trials to the number of trials that are not
 * foreign, and *passed to the number of trials that count.
 */
void kl_status_count(size_t *passed, size_t *trials, const struct kl_card *card);

#endif
