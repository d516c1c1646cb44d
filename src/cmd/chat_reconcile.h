/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CHAT_RECONCILE_H
#define KL_CMD_CHAT_RECONCILE_H

#include "repo/repo.h"

struct kl_reconciliation_opts;

/*
 * chat_reconcile - git klineage chat reconcile: compares the ledgers with a provider's bill
 * (model/reconciliation.h) and prints both sums for each day and model. KL_ENO: two such sums, or
 * the totals, are not equal (kl_reconciliation_is_equal()).
 */
int kl_chat_reconcile_say(struct kl_repo *repo, const char *path,
			  const struct kl_reconciliation_opts *opts, bool json);

#endif
