/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_STATUS_H
#define KL_CARD_STATUS_H

#include "card/card.h"

/*
 * status - a card's status, computed from its trials and never declared:
 *
 *	retracted	a row of `ver` takes it back
 *	admitted	an own, isolated trial passed at other-lineage or farther
 *	provisional	one passed at other-state
 *	hypothesis	none did
 *
 * A trial's level is computed when it is made, from where its state lies and where the evidence
 * does, and then kept: the card may learn from that very lineage later.
 */
enum kl_card_status kl_status_of(const struct kl_card *card);

/** Does this trial count? Own (not foreign), isolated, passed. */
bool kl_status_counts(const struct kl_card_trial *trial);

/**
 * How far a state is from the card's evidence. Another platform or language (than any evidence)
 * comes first, then another workload, then another lineage.
 */
enum kl_level kl_status_level(const struct kl_card *card, const char *workload, const char *lineage,
			      const char *language, const char *platform);

/** Own trials, and those of them that passed: for (successes+1)/(trials+2). */
void kl_status_count(size_t *passed, size_t *trials, const struct kl_card *card);

#endif
