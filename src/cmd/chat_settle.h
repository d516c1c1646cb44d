/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CHAT_SETTLE_H
#define KL_CMD_CHAT_SETTLE_H

#include "repo/repo.h"

/*
 * chat_settle - git klineage chat settle: settles interrupted reservations
 * (model/open_reservation.h) and prints the amount booked for each. `name` and `phase` choose the
 * reservations; NULL: any. A reservation whose reply is stored is settled by the reply. `cost` is
 * the total cost, in dollars, of the reservations without a stored reply; NULL: each of these cost
 * as much as was reserved for it.
 */
int kl_chat_settle_say(struct kl_repo *repo, const char *workload, const char *name,
		       const char *phase, const char *cost, bool json);

/** Change the settled amount of the reservation `id` to `cost`, in dollars, and print both. */
int kl_chat_settle_correct(struct kl_repo *repo, const char *workload, const char *id,
			   const char *cost, bool json);

#endif
