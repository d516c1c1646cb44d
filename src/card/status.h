/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_STATUS_H
#define KL_CARD_STATUS_H

#include "card/card.h"

/*
 * status - computes a card's status from its trials. Foreign trials do not count:
 *
 *	retracted	`ver` has a retraction
 *	admitted	an isolated trial passed at other-lineage or farther
 *	provisional	an isolated trial passed, but only at other-state
 *	hypothesis	no isolated trial passed
 *
 * A trial's level is computed from its state and the card's evidence when the trial is made. It is
 * stored, because evidence from the trial's lineage can be added to the card later.
 */
enum kl_card_status kl_status_of(const struct kl_card *card);

/** Check whether the trial counts: it passed, was isolated and is not foreign. */
bool kl_status_counts(const struct kl_card_trial *trial);

/**
 * Return the distance of a state from the card's evidence: other-language or other-platform if no
 * evidence has the language or the platform; otherwise other-workload if no evidence has the
 * workload; otherwise other-lineage if `lineage` is not NULL and no evidence has that lineage;
 * otherwise other-state.
 */
enum kl_level kl_status_level(const struct kl_card *card, const char *workload, const char *lineage,
			      const char *language, const char *platform);

/**
 * For the estimate (passed + 1) / (trials + 2): set *trials to the number of trials that are not
 * foreign, and *passed to the number of trials that count.
 */
void kl_status_count(size_t *passed, size_t *trials, const struct kl_card *card);

#endif
