/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_RECONCILIATION_H
#define KL_MODEL_RECONCILIATION_H

#include "model/bill.h"
#include "repo/repo.h"

/*
 * reconciliation - compares the ledgers with a provider's bill, per day and model.
 *
 * A request counts on the day of its reservation, even if it was settled or corrected on another
 * day. Only the days that the bill covers are compared. If the bill names no models, the sums of
 * whole days are compared.
 *
 *	struct kl_reconciliation_opts opts = { .workload = "c-topk" };
 *	err = kl_reconciliation_make(&out, repo, &bill, &opts);
 */
struct kl_reconciliation_opts {
	const char *workload; /* NULL for all workloads */
	const char *model;    /* compare models whose names begin with this; NULL for all */
};

/** A group of requests: their number, and the sum of their amounts in the ledger. */
struct kl_reconciled_part {
	size_t n;
	int64_t nano;
};

struct kl_reconciled {
	char day[KL_BILL_DAY]; /* "" for the total */
	/* as kl_bill_model() writes it; "" if there is none, or for the total */
	char *model;
	size_t requests;
	int64_t settled; /* sum of the ledger, nano-dollars */
	int64_t billed;  /* nano-dollars */
	/* amounts that are not exact in the ledger; the last three are included in `settled` */
	/* not settled yet; the provider can have charged for it */
	struct kl_reconciled_part open;
	struct kl_reconciled_part estimated; /* settled at an upper bound */
	/* settled at the reserved amount, since the token counts cannot be right */
	struct kl_reconciled_part implausible;
	/* settled at the reserved amount, without token counts */
	struct kl_reconciled_part uncounted;
	/*
	 * tokens of the ledger, known if all requests have counts, and of the bill, known if all
	 * rows have counts
	 */
	struct kl_usage counted, charged;
	int64_t tolerance; /* nano-dollars; sums that differ by less count as equal */
};

struct kl_reconciliation {
	struct kl_reconciled *line; /* by day and model */
	size_t n;
	struct kl_reconciled total;
	size_t unequal;                    /* number of lines whose sums are not equal */
	size_t workloads;                  /* number of ledgers read */
	struct kl_reconciled_part outside; /* requests on days that the bill does not cover */
};

/**
 * Compare the ledgers with a bill. Return KL_EINVALID if a ledger is malformed, or `opts->model` is
 * given for a bill without models or names only a vendor. Return KL_ENOTFOUND if the workload has
 * no ledger.
 */
int kl_reconciliation_make(struct kl_reconciliation *out, struct kl_repo *repo,
			   const struct kl_bill *bill, const struct kl_reconciliation_opts *opts);
void kl_reconciliation_release(struct kl_reconciliation *reconciliation);

/** Return true if the sums of the ledger and of the bill differ by less than `tolerance`. */
bool kl_reconciled_is_equal(const struct kl_reconciled *line);
/**
 * Return true if the sums are equal, or if the amounts that are not exact in the ledger can explain
 * the difference.
 */
bool kl_reconciled_is_explained(const struct kl_reconciled *line);
/** Return true if the sums of every line and of the total are equal. */
bool kl_reconciliation_is_equal(const struct kl_reconciliation *reconciliation);

#endif
