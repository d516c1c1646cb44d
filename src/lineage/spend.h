/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_SPEND_H
#define KL_LINEAGE_SPEND_H

#include "model/ledger.h"

/*
 * spend - what a workload's money was spent on: by conversation, and in the course of it the best
 * time that a gate had measured until then. Ledger and events of this clone, put together by their
 * times.
 */
struct kl_spend_phase {
	char *name, *phase;
	enum kl_budget budget;
	size_t requests;           /* reserved for */
	int64_t settled, reserved; /* nano-dollars; reserved: and not settled */
	struct kl_usage usage;     /* summed; `known` unless all are unknown */
};

struct kl_spend_point {
	int64_t nano; /* settled so far, of both budgets */
	int64_t ns;   /* the best time of a gated state so far; 0: none yet */
	char time[21];
};

struct kl_spend {
	char *workload;
	struct kl_ledger_totals totals;
	int64_t cap[KL_BUDGETS];
	struct kl_spend_phase *phase; /* in the order of their first request */
	size_t n, alloc;
	struct kl_spend_point *point; /* one per settlement, after one at 0 */
	size_t npoint, point_alloc;
};

/** A workload without a ledger has neither phases nor points. */
int kl_spend_load(struct kl_spend *out, struct kl_repo *repo, const char *workload);
void kl_spend_release(struct kl_spend *spend);

#endif
