/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_SERIES_H
#define KL_APPLY_SERIES_H

#include "apply/carrier.h"
#include "retrieve/retrieve.h"

/*
 * series - lists the steps of lineages whose diffs are tried one after the other.
 *
 * Some steps make a kernel no faster but enable the next step. A lineage shows an order in which
 * its steps work. So the diffs that cards have from one lineage are tried in the order of its
 * steps, each on the result of the one before. If a lineage uses the mechanism of a card several
 * times, several of its steps belong to that card.
 */

/* A list has at most this many lineages. The lineages of the first retrieved cards are taken. */
#define KL_SERIES_LINEAGES 8

struct kl_series_step {
	const char *lineage; /* "<workload>/<name>"; points into the index */
	int64_t number;      /* the step is that from K_{number-1} to K_number */
	size_t at;           /* index of the step's card in the retrieval */
};

struct kl_series {
	/* the steps of one lineage are next to each other, sorted by number */
	struct kl_series_step *v;
	size_t n, alloc;
};

/**
 * List the steps from which the first `cards` retrieved cards were learned. The lineages are in the
 * order in which `retrieval` lists their first cards. The caller releases *out.
 */
void kl_series_list(struct kl_series *out, const struct kl_index *ix,
		    const struct kl_retrieval *retrieval, size_t cards);
void kl_series_release(struct kl_series *series);

/**
 * Find the way of applying try->card (carrier.h) that is the diff of the step, and set
 * try->variant. Return KL_ENO if the card has no diff of this step for the language of the state.
 */
int kl_series_find_way(struct kl_carrier_try *try, const struct kl_series_step *step);

#endif
