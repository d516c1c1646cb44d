/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_OPEN_RESERVATION_H
#define KL_MODEL_OPEN_RESERVATION_H

#include "model/ledger.h"

/*
 * open_reservation - finds and settles reservations that broke off: whoever made one was killed,
 * or its request ended so that nobody knows what it cost. Each counts as spent until it is settled
 * here: at what its reply did cost, where that is stored; else at what the user says that the
 * provider charged, or at its worst case. One whose conversation is locked, that is
 * under way, is left alone.
 *
 *	struct kl_open_reservations u = { .repo = r, .workload = "c-topk", .tell = tell };
 *	err = kl_open_reservations_settle(&u);
 */
enum kl_settled_by {
	KL_SETTLED_REPLY,  /* its reply is stored */
	KL_SETTLED_STATED, /* the user said what it cost */
	KL_SETTLED_WORST,  /* the whole reservation */
	KL_SETTLED_NOT     /* it is under way */
};

struct kl_open_reservations {
	struct kl_repo *repo;
	const char *workload;
	const char *name, *phase; /* NULL: every one */
	bool stored_only;         /* those alone whose reply is stored */
	const int64_t *cost;      /* of all the others, nano-dollars; NULL: the worst */
	/** Of each: the reservation, what it was settled at, and why. May be NULL. */
	void (*tell)(const struct kl_ledger_entry *e, int64_t nano, enum kl_settled_by by,
		     void *payload);
	void *payload;
	bool locked; /* the caller holds the lock of that conversation */
};

/** KL_EINVALID: the ledger is none. What was settled before an error stays settled. */
int kl_open_reservations_settle(struct kl_open_reservations *reservations);

#endif
