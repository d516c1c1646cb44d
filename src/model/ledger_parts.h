/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_LEDGER_PARTS_H
#define KL_MODEL_LEDGER_PARTS_H

#include "model/ledger.h"

/* ledger_parts - functions shared by the files ledger*.c. */
#define KL_LEDGER_FILE "ledger.json"
/* limit of the sum of all amounts, so that no sum over entries overflows */
#define KL_LEDGER_MAX_SUM (INT64_MAX / 4)

/** Get the commit of a ref; zero if the ref does not exist. */
int kl_ledger_ref(git_oid *out, struct kl_repo *repo, const char *ref);
/** Read the entry of the commit `at`, and get the commit's parent (zero if it has none). */
int kl_ledger_read_entry(struct kl_ledger_entry *out, git_oid *parent, struct kl_repo *repo,
			 const git_oid *at, const char *account);
/** Read the totals at the tip of the ledger; `*tip` is zero if there is no ledger. */
int kl_ledger_read_tip(git_oid *tip, struct kl_ledger_totals *totals, struct kl_repo *repo,
		       const char *ref, const char *account);

#endif
