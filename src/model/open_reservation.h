/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_OPEN_RESERVATION_H
#define KL_MODEL_OPEN_RESERVATION_H

#include "model/ledger.h"

/*
 * open_reservation - finds and settles abandoned reservations. A reservation is abandoned if its
 * process was killed, or if its request ended with an unknown cost. It counts as spent until it is
 * settled here. If its reply is stored, it is settled at the cost of the reply; otherwise at the
 * cost that the user states or, if the user states none, at the whole reserved amount. If the
 * conversation is locked, a request is in progress, so the reservation is left open.
 *
 *	struct kl_open_reservations u = { .repo = r, .workload = "c-topk", .tell = tell };
 *	err = kl_open_reservations_settle(&u);
 */
enum kl_settled_by {
	KL_SETTLED_REPLY,  /* its reply is stored */
	KL_SETTLED_STATED, /* the user stated the cost */
	KL_SETTLED_WORST,  /* settled at the whole reserved amount */
	KL_SETTLED_NOT     /* not settled: its request is in progress */
};

struct kl_open_reservations {
	struct kl_repo *repo;
	const char *workload;
	const char *purse;        /* name of a search, whose purse is used; NULL if there is none */
	const char *name, *phase; /* NULL for any */
	bool stored_only;         /* settle only reservations whose reply is stored */
	/* total cost of the reservations without a stored reply; NULL for the reserved amounts */
	const int64_t *cost;
	/**
	 * Called for each reservation. `nano` is the amount at which it was settled, or 0 if it was
	 * not settled. `by` tells where the amount comes from. Can be NULL.
	 */
	void (*tell)(const struct kl_ledger_entry *e, int64_t nano, enum kl_settled_by by,
		     void *payload);
	void *payload;
	bool locked; /* the caller holds the lock of the conversation */
};

/**
 * Settle the abandoned reservations that the members of `reservations` select. Return KL_EINVALID
 * if the ledger is malformed. Reservations settled before an error stay settled.
 */
int kl_open_reservations_settle(struct kl_open_reservations *reservations);

#endif
