/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_STATUS_H
#define KL_CARD_STATUS_H

#include "card/card.h"

/*
 * status - a card's status, computed from its trials and never declared:
 *
 *	retracted	a row of `ver` retracts the card
 *	admitted	an own, isolated trial passed at other-lineage or farther
 *	provisional	an own, isolated trial passed, but only at other-state
 *	hypothesis	no such trial passed
 *
 * A trial's level is computed when the trial is made, from its state and the card's evidence, and
 * then stored, because the card can be learned from that lineage later.
 */
enum kl_card_status kl_status_of(const struct kl_card *card);

/** Whether the trial counts: it is own (not foreign), isolated and passed. */
bool kl_status_counts(const struct kl_card_trial *trial);

/**
 * Distance of a state from the card's evidence. A language or platform that no evidence has is
 * checked first, then the workload, then the lineage (NULL: none).
 */
enum kl_level kl_status_level(const struct kl_card *card, const char *workload, const char *lineage,
			      const char *language, const char *platform);

/** Count own trials, and those of them that count as passed, for (passed+1)/(trials+2). */
void kl_status_count(size_t *passed, size_t *trials, const struct kl_card *card);

#endif
