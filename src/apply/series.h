/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_SERIES_H
#define KL_APPLY_SERIES_H

#include "apply/carrier.h"
#include "retrieve/retrieve.h"

/*
 * series - the diffs of a lineage's steps, in the order of the steps.
 *
 * Some steps gain nothing by themselves and enable the next. A lineage shows an order in which its
 * steps work, so the diffs that cards have of one lineage are tried one after the other, each on
 * the result of the one before. A card whose mechanism a lineage uses several times has several
 * steps.
 */

/* most lineages in a list: those of the cards that retrieve lists first */
#define KL_SERIES_LINEAGES 8

struct kl_series_step {
	const char *lineage; /* "<workload>/<name>"; points into the index */
	int64_t number;      /* the step from K_{number-1} to K_number */
	size_t at;           /* index of the step's card in the retrieval */
};

struct kl_series {
	/* the steps of one lineage are next to each other, sorted by number */
	struct kl_series_step *v;
	size_t n, alloc;
};

/**
 * List the steps of which the first `cards` retrieved cards were learned. Lineages are in the order
 * in which `retrieval` lists their first cards.
 */
void kl_series_list(struct kl_series *out, const struct kl_index *ix,
		    const struct kl_retrieval *retrieval, size_t cards);
void kl_series_release(struct kl_series *series);

/**
 * Find the way to apply try->card (carrier.h) that is the diff of the step, and set try->variant.
 * Return KL_ENO if the card has no diff of this step for the language of the state.
 */
int kl_series_find_way(struct kl_carrier_try *try, const struct kl_series_step *step);

#endif
