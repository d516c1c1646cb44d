/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CHAT_COST_H
#define KL_CMD_CHAT_COST_H

#include "repo/repo.h"

struct kl_listing;

/*
 * chat_cost - git klineage chat cost: prints the cost of the conversations of a workload or, if
 * `workload` is NULL, of all workloads that have a ledger. `bars`: also draw the best time against
 * the money spent.
 */
int kl_chat_cost_print(struct kl_repo *repo, const char *workload, const struct kl_listing *out,
		       bool bars);

#endif
