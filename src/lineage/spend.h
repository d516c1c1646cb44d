/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_SPEND_H
#define KL_LINEAGE_SPEND_H

#include "model/ledger.h"

/*
 * spend - the money spent on a workload: for each conversation, and over time together with the
 * best gated time so far. Money and times are combined by the timestamps of the ledger and of this
 * clone's events.
 */
struct kl_spend_phase {
	char *name, *phase; /* name and phase of the conversation */
	enum kl_budget budget;
	size_t requests; /* number of requests, counted by their reservations */
	size_t open;     /* number of requests that are not settled yet */
	/* nano-dollars; `reserved` is reserved for the requests that are not settled yet */
	int64_t settled, reserved;
	/* usage of all requests together; `known` if the usage of at least one is known */
	struct kl_usage usage;
	/* number of settlements whose token counts cannot be right (model/ledger.h) */
	size_t implausible;
};

struct kl_spend_point {
	int64_t nano; /* nano-dollars settled so far, in both budgets together */
	/*
	 * time in nanoseconds of the fastest state that passed the gate so far; 0 if there is none
	 * yet
	 */
	int64_t ns;
	char time[21];
};

struct kl_spend {
	char *workload; /* the account (ledger.h): a workload, or "<workload>/<search>" */
	bool is_purse;  /* of a search */
	struct kl_ledger_totals totals;
	int64_t cap
		[KL_BUDGETS]; /* most nano-dollars that may be spent from each budget; no purse's */
	struct kl_spend_phase *phase; /* the phases, in the order of their first request */
	size_t n, alloc;
	/* one point for the first ledger entry, then one for each settlement or correction */
	struct kl_spend_point *point;
	size_t npoint, point_alloc;
};

/** Return the usage of all phases together; `known` if the usage of at least one phase is known. */
struct kl_usage kl_spend_usage(const struct kl_spend *spend);

/** Load the spending of an account. If it has no ledger, there are no phases and no points. */
int kl_spend_load(struct kl_spend *out, struct kl_repo *repo, const char *account);
void kl_spend_release(struct kl_spend *spend);

#endif
