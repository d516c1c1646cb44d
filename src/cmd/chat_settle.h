/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CHAT_SETTLE_H
#define KL_CMD_CHAT_SETTLE_H

#include "repo/repo.h"

/*
 * chat_settle - git klineage chat settle: settles interrupted reservations
 * (model/open_reservation.h) and prints the amount booked for each. If `name` and `phase` are NULL,
 * all reservations of the workload are settled. `cost`: their total cost in dollars as stated by
 * the user; NULL: book the worst case of each, unless its reply is stored.
 */
int kl_chat_settle_say(struct kl_repo *repo, const char *workload, const char *name,
		       const char *phase, const char *cost, bool json);

/** Correct the settled amount of the reservation `id` to what was charged, and print both. */
int kl_chat_settle_correct(struct kl_repo *repo, const char *workload, const char *id,
			   const char *cost, bool json);

#endif
