/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_OPEN_RESERVATION_H
#define KL_MODEL_OPEN_RESERVATION_H

#include "model/ledger.h"

/*
 * open_reservation - finds and settles abandoned reservations. The process that made one was
 * killed, or its request ended with an unknown cost. Each counts as spent until it is settled here:
 * at the cost of its stored reply; without one, at what the user states that the provider charged,
 * or at the full reservation. If the conversation is locked, the request is in progress and the
 * reservation is left alone.
 *
 *	struct kl_open_reservations u = { .repo = r, .workload = "c-topk", .tell = tell };
 *	err = kl_open_reservations_settle(&u);
 */
enum kl_settled_by {
	KL_SETTLED_REPLY,  /* its reply is stored */
	KL_SETTLED_STATED, /* the user stated the cost */
	KL_SETTLED_WORST,  /* the whole reservation */
	KL_SETTLED_NOT     /* not settled: in progress */
};

struct kl_open_reservations {
	struct kl_repo *repo;
	const char *workload;
	const char *name, *phase; /* NULL: all */
	bool stored_only;         /* only those whose reply is stored */
	const int64_t *cost;      /* total of those without a stored reply; NULL: as reserved */
	/** Called for each reservation with the settled amount and the reason. Can be NULL. */
	void (*tell)(const struct kl_ledger_entry *e, int64_t nano, enum kl_settled_by by,
		     void *payload);
	void *payload;
	bool locked; /* the caller holds the lock of the conversation */
};

/** KL_EINVALID: the ledger is malformed. Reservations settled before an error stay settled. */
int kl_open_reservations_settle(struct kl_open_reservations *reservations);

#endif
