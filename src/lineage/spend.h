/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_SPEND_H
#define KL_LINEAGE_SPEND_H

#include "model/ledger.h"

/*
 * spend - the money spent on a workload: by conversation, and over time with the best gated time
 * up to then. Combines the ledger and the events of this clone by their timestamps.
 */
struct kl_spend_phase {
	char *name, *phase;
	enum kl_budget budget;
	size_t requests;           /* number of reservations */
	int64_t settled, reserved; /* nano-dollars; reserved: not yet settled */
	struct kl_usage usage;     /* sum; `known` unless all are unknown */
	size_t implausible;        /* settlements whose counts cannot be right (model/ledger.h) */
};

struct kl_spend_point {
	int64_t nano; /* settled so far, both budgets */
	int64_t ns;   /* best time of a gated state so far; 0: none yet */
	char time[21];
};

struct kl_spend {
	char *workload;
	struct kl_ledger_totals totals;
	int64_t cap[KL_BUDGETS];
	struct kl_spend_phase *phase; /* in the order of their first request */
	size_t n, alloc;
	struct kl_spend_point *point; /* the first ledger entry, then each settlement */
	size_t npoint, point_alloc;
};

/** Tokens of all phases; known if those of a phase are. */
struct kl_usage kl_spend_usage(const struct kl_spend *spend);

/** Load the spending of a workload; without a ledger it has no phases and no points. */
int kl_spend_load(struct kl_spend *out, struct kl_repo *repo, const char *workload);
void kl_spend_release(struct kl_spend *spend);

#endif
