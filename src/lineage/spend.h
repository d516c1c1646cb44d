/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_SPEND_H
#define KL_LINEAGE_SPEND_H

#include "model/ledger.h"

/*
 * spend - the money spent on a workload: for each conversation, and over time together with the
 * best gated time so far. The ledger and the events of this clone are combined by their timestamps.
 */
struct kl_spend_phase {
	char *name, *phase; /* of the conversation: its name and phase */
	enum kl_budget budget;
	size_t requests;           /* number of requests, counted by their reservations */
	int64_t settled, reserved; /* nano-dollars; `reserved` is what is not settled yet */
	struct kl_usage usage;     /* sum of all requests; `known` if the usage of any is known */
	/* number of settlements whose token counts cannot be right (model/ledger.h) */
	size_t implausible;
};

struct kl_spend_point {
	int64_t nano; /* nano-dollars settled so far, from both budgets together */
	/* nanoseconds of the fastest state that passed the gate so far; 0: none yet */
	int64_t ns;
	char time[21];
};

struct kl_spend {
	char *workload;
	struct kl_ledger_totals totals;
	int64_t cap[KL_BUDGETS];      /* nano-dollars that may be spent from each budget */
	struct kl_spend_phase *phase; /* the phases, in the order of their first request */
	size_t n, alloc;
	/* one for the first ledger entry, then one for each settlement or correction */
	struct kl_spend_point *point;
	size_t npoint, point_alloc;
};

/** Tokens of all phases; known if those of a phase are. */
struct kl_usage kl_spend_usage(const struct kl_spend *spend);

/** Load the spending of a workload. If it has no ledger, there are no phases and no points. */
int kl_spend_load(struct kl_spend *out, struct kl_repo *repo, const char *workload);
void kl_spend_release(struct kl_spend *spend);

#endif
