/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_LEDGER_H
#define KL_MODEL_LEDGER_H

#include "base/buf.h"
#include "model/provider/message.h"
#include "model/session.h"
#include "repo/repo.h"

/*
 * ledger - keeps the costs of a workload within its budgets. The ref
 * refs/klineage/ledger/<workload> has a commit for each reservation, each settlement and each
 * correction of a settlement. Each commit also has the totals of all entries up to it, so that
 * reading the tip is enough.
 *
 *	err = kl_ledger_reserve(&r, repo, "c-topk", &ask);	(KL_ENO: it would exceed the cap)
 *	... send; ask for no more than r.tokens ...
 *	err = kl_ledger_settle(repo, "c-topk", &bill, &also);
 *
 * Settled amounts and open reservations count as spent. A process that dies after it has reserved
 * leaves an open reservation, which counts until open_reservation.h settles it. The ref moves by
 * compare-and-swap: if two processes reserve at once, the second sees the reservation of the first
 * and cannot exceed the cap. docs/formats.md, "Ledger and prices".
 *
 * A search has a ledger of its own, its purse refs/klineage/purse/<workload>/<name>, so that one
 * search cannot spend what is meant for another. `account` names either: "c-topk" is the ledger of
 * a workload, "c-topk/climb-1" the purse of one of its searches.
 */
#define KL_LEDGER_REFS "refs/klineage/ledger/"
#define KL_PURSE_REFS "refs/klineage/purse/"
#define KL_LEDGER_ID 33 /* 32 hex digits and the NUL */
#define KL_BUDGETS 2

struct kl_ledger_totals {
	/* indexed by enum kl_budget; nano-dollars */
	struct {
		int64_t settled, reserved;
	} of[KL_BUDGETS];
};

const char *kl_budget_name(enum kl_budget budget); /* "induce" */
/** Read the cap, in nano-dollars, from the configuration klineage.budget.<name>. */
int kl_budget_cap(int64_t *cap, struct kl_repo *repo, enum kl_budget budget);

/** Return the ref of an account. The caller frees it. */
char *kl_ledger_account_ref(const char *account);
/** Return the account of a search, or of the workload if `purse` is NULL. The caller frees it. */
char *kl_ledger_account(const char *workload, const char *purse);

/** Read the totals at the tip; all zero if there is no ledger yet. */
int kl_ledger_totals(struct kl_ledger_totals *out, struct kl_repo *repo, const char *account);

struct kl_ledger_ask {
	enum kl_budget budget;
	int64_t cap;
	const char *name, *phase, *model;
	int64_t turn;
	int64_t fixed, per_token; /* from kl_price_worst() */
	/* tokens of the reply: the number wanted, and the smallest useful number */
	int64_t tokens, least_tokens;
};

struct kl_reservation {
	char id[KL_LEDGER_ID];
	int64_t nano;
	/* tokens of the reply: the number wanted, or less if the cap does not allow so many */
	int64_t tokens;
};

/**
 * Reserve the worst-case cost of a request. Return KL_ENO if it would exceed the cap. The message
 * has the amounts.
 */
int kl_ledger_reserve(struct kl_reservation *out, struct kl_repo *repo, const char *account,
		      const struct kl_ledger_ask *ask);

struct kl_ledger_bill {
	enum kl_budget budget;
	const char *name, *phase, *model;
	int64_t turn;
	const struct kl_reservation *reservation;
	int64_t nano;                 /* actual cost */
	const struct kl_usage *usage; /* NULL if the tokens are unknown */
	bool stated;                  /* `nano` was stated by the user, not by the provider */
	bool implausible;             /* the provider's token counts cannot be right */
	bool estimated;               /* `nano` is an upper bound, since the reply broke off */
};

/** A ref that moves together with the ledger, in one transaction. */
struct kl_ledger_also {
	const char *ref;
	git_oid to, from; /* new value; expected value (zero if the ref must not exist) */
};

/**
 * Replace a reservation by the actual cost. If another process holds the ref, retry for three
 * minutes, even after an interrupt. (kl_ledger_reserve() retries for half a minute, or until an
 * interrupt.) `also` can be NULL. Return KL_ECHANGED if `also->ref` is no longer at `from`; nothing
 * was written.
 */
int kl_ledger_settle(struct kl_repo *repo, const char *account, const struct kl_ledger_bill *bill,
		     const struct kl_ledger_also *also);

/**
 * Replace the settled amount of the reservation `id` by `nano`, which the provider charged. Set
 * `*before` to the amount that was replaced. Return KL_ENOTFOUND if there is no such reservation;
 * return KL_EINVALID if the reservation is still open (open_reservation.h settles it). Other errors
 * are those of kl_ledger_settle().
 */
int kl_ledger_correct(int64_t *before, struct kl_repo *repo, const char *workload, const char *id,
		      int64_t nano);

/*
 * --- reading all entries ---------------------------------------------------------
 */

enum kl_ledger_kind {
	KL_LEDGER_RESERVE,
	KL_LEDGER_SETTLE,  /* ends a reservation */
	KL_LEDGER_CORRECT, /* replaces the amount of a settlement */
};

struct kl_ledger_entry {
	enum kl_ledger_kind kind;
	char id[KL_LEDGER_ID];
	enum kl_budget budget;
	char *name, *phase, *model, *time;
	int64_t turn;
	int64_t nano;          /* reserved, or actual cost */
	int64_t released;      /* for SETTLE: amount of the reservation that it ends */
	int64_t before;        /* for CORRECT: amount that it replaces */
	struct kl_usage usage; /* SETTLE: tokens */
	bool stated;           /* `nano` was stated by the user (open_reservation.h) */
	/* SETTLE: the token counts cannot be right; `nano` is the reserved amount */
	bool implausible;
	bool estimated; /* for SETTLE: `nano` is an upper bound, since the reply broke off */
	struct kl_ledger_totals after;
	git_oid commit;
};

struct kl_ledger {
	struct kl_ledger_entry *e; /* oldest first */
	size_t n, alloc;
};

/** Return by how much an entry changes the settled amount of its budget, in nano-dollars. */
int64_t kl_ledger_settled_by(const struct kl_ledger_entry *entry);

/**
 * Parse the file of an entry; leaves `commit` unset. Return KL_EINVALID if the ledger is malformed.
 */
int kl_ledger_entry_parse(struct kl_ledger_entry *out, const char *text, size_t len,
			  const char *workload);
void kl_ledger_entry_format(struct kl_buf *out, const struct kl_ledger_entry *entry,
			    const char *workload);
void kl_ledger_entry_release(struct kl_ledger_entry *entry);

/**
 * Load all entries; an absent ledger is empty. KL_EINVALID if malformed. Does not check that the
 * totals add up.
 */
int kl_ledger_load(struct kl_ledger *out, struct kl_repo *repo, const char *account);
void kl_ledger_release(struct kl_ledger *ledger);

#endif
