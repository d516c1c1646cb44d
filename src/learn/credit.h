/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_CREDIT_H
#define KL_LEARN_CREDIT_H

#include "card/card.h"

/*
 * credit - measures how much better models do with a card than with less of it, or with another
 * card.
 *
 * The gain of an arm is the logarithm of its ratio if the edit is correct and faster, otherwise 0,
 * because such an edit would not be used. The credit against a control is the mean over trials of
 * the gain with the card less the gain of the control. Its interval is the middle 95 % of 10,000
 * bootstrap samples, each of as many workloads as there are, drawn with replacement: trials on one
 * workload depend on each other. Trials of a model that could see the repository are left out.
 *
 *	kl_credit_add(&credit, card);		for each card
 *	kl_credit_compute(&credit);
 */
enum kl_credit_control { KL_CREDIT_INTENT, KL_CREDIT_BARE, KL_CREDIT_WRONG, KL_CREDIT_CONTROLS };

const char *kl_credit_name(enum kl_credit_control control); /* "intent", "bare", "wrong" */

struct kl_credit_sum {
	size_t units, workloads;
	size_t won, lost; /* units in which the card gained more, and less, than the control */
	double mean;      /* NAN without units */
	double lo, hi;    /* NAN with fewer than two workloads */
};

struct kl_credit {
	struct kl_credit_unit {
		char *workload;
		enum kl_credit_control control;
		double gain; /* with the card, less that of the control */
	} * v;
	size_t n, alloc;
	size_t seen; /* trials that were left out, since they were not isolated */
	struct kl_credit_sum sum[KL_CREDIT_CONTROLS];
};

void kl_credit_release(struct kl_credit *credit);
/** Add the trials of a card, of all levels. */
void kl_credit_add(struct kl_credit *credit, const struct kl_card *card);
/** Compute `sum`. */
void kl_credit_compute(struct kl_credit *credit);

/** Return the gain of an arm: its result, class and ratio. */
double kl_credit_gain(enum kl_result result, const char *class_, const struct kl_ratio *ratio);

#endif
