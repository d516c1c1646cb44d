/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CHAT_SETTLE_H
#define KL_CMD_CHAT_SETTLE_H

#include "repo/repo.h"

/*
 * chat_settle - git klineage chat settle: ends reservations that broke off
 * (model/open_reservation.h), and says of each at what. `name` and `phase` NULL: all of the
 * workload. `cost`: what the user says that they did cost in all, in dollars; NULL: each its worst
 * case.
 */
int kl_chat_settle_say(struct kl_repo *repo, const char *workload, const char *name,
		       const char *phase, const char *cost, bool json);

#endif
