/* SPDX-License-Identifier: Apache-2.0 */
#include "model/ledger.h"

#include <string.h>

#include "base/error.h"
#include "model/ledger_parts.h"
#include "model/money.h"
#include "repo/refs.h"

#define INDUCE_CAP (40 * KL_DOLLAR)
#define MATERIALIZE_CAP (10 * KL_DOLLAR)
#define MAX_ENTRY ((size_t)16 << 10)
#define MAX_ENTRIES 1000000

const char *kl_budget_name(enum kl_budget budget)
{
	return budget == KL_BUDGET_INDUCE ? "induce" : "materialize";
}

int kl_budget_cap(int64_t *cap, struct kl_repo *repo, enum kl_budget budget)
{
	return budget == KL_BUDGET_INDUCE ?
		       kl_money_config(cap, repo, "klineage.budget.induce", INDUCE_CAP) :
		       kl_money_config(cap, repo, "klineage.budget.materialize", MATERIALIZE_CAP);
}

void kl_ledger_release(struct kl_ledger *ledger)
{
	for (size_t i = 0; i < ledger->n; i++)
		kl_ledger_entry_release(&ledger->e[i]);
	free(ledger->e);
	*ledger = (struct kl_ledger){ 0 };
}

char *kl_ledger_account_ref(const char *account)
{
	return kl_asprintf("%s%s", strchr(account, '/') ? KL_PURSE_REFS : KL_LEDGER_REFS, account);
}

char *kl_ledger_account(const char *workload, const char *purse)
{
	return purse ? kl_asprintf("%s/%s", workload, purse) : kl_strdup(workload);
}

int kl_ledger_read_entry(struct kl_ledger_entry *out, git_oid *parent, struct kl_repo *repo,
			 const git_oid *at, const char *account)
{
	KL_AUTO(kl_freep) char *ref = kl_ledger_account_ref(account);
	KL_AUTO(kl_commit_release) struct kl_commit commit = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_ledger_entry entry;
	git_oid blob;
	int err = kl_repo_commit_read(&commit, repo, at);

	if (!err && commit.nparent > 1)
		err = kl_error(KL_EINVALID, "the entry is a merge commit");
	if (!err && !(err = kl_repo_tree_entry(&blob, NULL, repo, &commit.tree, KL_LEDGER_FILE)) &&
	    !(err = kl_repo_blob_read(&text, repo, &blob, MAX_ENTRY)))
		err = kl_ledger_entry_parse(&entry, text.ptr, text.len, account);
	if (err < 0) {
		char hex[KL_OID_HEX];

		kl_oid_hex(hex, at);
		return kl_error_in(KL_EINVALID, "%s, entry %.12s", ref, hex);
	}
	memset(parent, 0, sizeof(*parent));
	if (commit.nparent)
		*parent = commit.parent[0];
	entry.commit = *at;
	*out = entry;
	return 0;
}

int kl_ledger_ref(git_oid *out, struct kl_repo *repo, const char *ref)
{
	int err = kl_refs_get(out, repo, ref);

	if (err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	memset(out, 0, sizeof(*out));
	return 0;
}

/*
 * Add the amounts of an entry to `*sum`, and refuse a sum above KL_LEDGER_MAX_SUM, so that no later
 * sum over entries can overflow.
 */
static int add_sum(int64_t *sum, const struct kl_ledger_entry *entry, const char *ref)
{
	int64_t other = entry->released + entry->before; /* at most one of the two is not 0 */

	if (entry->nano > KL_LEDGER_MAX_SUM - *sum ||
	    other > KL_LEDGER_MAX_SUM - *sum - entry->nano)
		return kl_error(KL_EINVALID, "the amounts in '%s' are too large", ref);
	*sum += entry->nano + other;
	return 0;
}

int kl_ledger_load(struct kl_ledger *out, struct kl_repo *repo, const char *account)
{
	KL_AUTO(kl_freep) char *ref = kl_ledger_account_ref(account);
	KL_AUTO(kl_ledger_release) struct kl_ledger ledger = { 0 };
	int64_t sum = 0;
	git_oid at;
	int err = kl_ledger_ref(&at, repo, ref);

	while (!err && !git_oid_is_zero(&at)) {
		git_oid parent;

		if (ledger.n == MAX_ENTRIES)
			return kl_error(KL_EINVALID, "'%s' has more than %d entries", ref,
					MAX_ENTRIES);
		KL_GROW(ledger.e, ledger.n + 1, ledger.alloc);
		if (!(err = kl_ledger_read_entry(&ledger.e[ledger.n], &parent, repo, &at, account)))
			err = add_sum(&sum, &ledger.e[ledger.n++], ref);
		at = parent;
	}
	if (err < 0)
		return err;
	for (size_t i = 0; i < ledger.n / 2; i++) {
		struct kl_ledger_entry entry = ledger.e[i];

		ledger.e[i] = ledger.e[ledger.n - 1 - i];
		ledger.e[ledger.n - 1 - i] = entry;
	}
	*out = ledger;
	ledger = (struct kl_ledger){ 0 };
	return 0;
}

/* --- the tip -------------------------------------------------------------------- */

int kl_ledger_read_tip(git_oid *tip, struct kl_ledger_totals *totals, struct kl_repo *repo,
		       const char *ref, const char *account)
{
	struct kl_ledger_entry entry;
	git_oid parent;
	int err = kl_ledger_ref(tip, repo, ref);

	*totals = (struct kl_ledger_totals){ 0 };
	if (err < 0 || git_oid_is_zero(tip))
		return err;
	if ((err = kl_ledger_read_entry(&entry, &parent, repo, tip, account)) < 0)
		return kl_error_hint(err, "run 'git klineage fsck' for details");
	*totals = entry.after;
	kl_ledger_entry_release(&entry);
	return 0;
}

int kl_ledger_totals(struct kl_ledger_totals *out, struct kl_repo *repo, const char *account)
{
	KL_AUTO(kl_freep) char *ref = kl_ledger_account_ref(account);
	git_oid tip;

	return kl_ledger_read_tip(&tip, out, repo, ref, account);
}
