/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_LEDGER_H
#define KL_MODEL_LEDGER_H

#include "base/buf.h"
#include "model/provider/message.h"
#include "model/session.h"
#include "repo/repo.h"

/*
 * ledger - what a workload has cost, and may: refs/klineage/ledger/<workload>, a commit for each
 * reservation and each settlement, each with the totals after it, so that the tip says all.
 *
 *	err = kl_ledger_reserve(&r, repo, "c-topk", &ask);	(KL_ENO: it would pass the cap)
 *	... send; ask for no more than r.tokens ...
 *	err = kl_ledger_settle(repo, "c-topk", &bill, &also);
 *
 * Spent is what was settled and what is reserved and not settled. Who dies in between leaves his
 * reservation, and it counts until open_reservation.h ends it. The ref moves by compare-and-swap:
 * of two processes that would both fit under the cap alone, the second sees the first.
 * docs/formats.md, "Ledger and prices".
 */
#define KL_LEDGER_REFS "refs/klineage/ledger/"
#define KL_LEDGER_ID 33 /* 32 hex digits and the NUL */
#define KL_BUDGETS 2

struct kl_ledger_totals {
	/* by enum kl_budget; nano-dollars */
	struct {
		int64_t settled, reserved;
	} of[KL_BUDGETS];
};

const char *kl_budget_name(enum kl_budget budget); /* "induce" */
/** Of the configuration: klineage.budget.<name>. */
int kl_budget_cap(int64_t *cap, struct kl_repo *repo, enum kl_budget budget);

/** What the tip says; all zero where there is no ledger yet. */
int kl_ledger_totals(struct kl_ledger_totals *out, struct kl_repo *repo, const char *workload);

struct kl_ledger_ask {
	enum kl_budget budget;
	int64_t cap;
	const char *name, *phase, *model;
	int64_t turn;
	int64_t fixed, per_token;     /* of kl_price_worst */
	int64_t tokens, least_tokens; /* of the reply: wanted, and without which it is no use */
};

struct kl_reservation {
	char id[KL_LEDGER_ID];
	int64_t nano;
	int64_t tokens; /* those wanted, or as many as the cap leaves room for */
};

int kl_ledger_reserve(struct kl_reservation *out, struct kl_repo *repo, const char *workload,
		      const struct kl_ledger_ask *ask);

struct kl_ledger_bill {
	enum kl_budget budget;
	const char *name, *phase, *model;
	int64_t turn;
	const struct kl_reservation *reservation;
	int64_t nano;                 /* what it did cost */
	const struct kl_usage *usage; /* NULL: not known */
	bool stated;                  /* by the user, not by the provider */
};

/** A ref that moves with the ledger, in one transaction. */
struct kl_ledger_also {
	const char *ref;
	git_oid to, from; /* zero: it must not exist */
};

/**
 * Goes on trying where a reservation would have given up: for minutes, and after an interrupt.
 * KL_ECHANGED: `also->ref` is not at `from` any more, and nothing was written. `also` may be NULL.
 */
int kl_ledger_settle(struct kl_repo *repo, const char *workload, const struct kl_ledger_bill *bill,
		     const struct kl_ledger_also *also);

/* --- for those who show and check ------------------------------------------------ */

struct kl_ledger_entry {
	bool settles; /* else it reserves */
	char id[KL_LEDGER_ID];
	enum kl_budget budget;
	char *name, *phase, *model, *time;
	int64_t turn;
	int64_t nano;          /* reserved, or what it did cost */
	int64_t released;      /* settles: the reservation that this ends */
	struct kl_usage usage; /* settles */
	bool stated;           /* settles: at what the user said (open_reservation.h) */
	struct kl_ledger_totals after;
	git_oid commit;
};

struct kl_ledger {
	struct kl_ledger_entry *e; /* oldest first */
	size_t n, alloc;
};

/** An entry as the file of its commit; `commit` is not in it. KL_EINVALID. */
int kl_ledger_entry_parse(struct kl_ledger_entry *out, const char *text, size_t len,
			  const char *workload);
void kl_ledger_entry_format(struct kl_buf *out, const struct kl_ledger_entry *entry,
			    const char *workload);
void kl_ledger_entry_release(struct kl_ledger_entry *entry);

/**
 * All of it; what is not of the format is KL_EINVALID. None: empty. Sums are the checker's
 * business.
 */
int kl_ledger_load(struct kl_ledger *out, struct kl_repo *repo, const char *workload);
void kl_ledger_release(struct kl_ledger *ledger);

#endif
