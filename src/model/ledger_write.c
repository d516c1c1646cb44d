/* SPDX-License-Identifier: Apache-2.0 */
/* ledger_write - adds entries to the ledger, by compare-and-swap of its ref */
#include "model/ledger.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/proc.h"
#include "base/rng.h"
#include "model/ledger_parts.h"
#include "model/money.h"
#include "repo/refs.h"

#define RESERVE_MS 30000 /* other processes hold the ref only for milliseconds */
#define SETTLE_MS 180000

struct writer {
	struct kl_repo *repo;
	const char *account;
	char *ref;
	struct kl_ledger_entry e;
	const struct kl_ledger_also *also;
	git_oid first, base, made; /* tip at the first try; tip at this try; commit of our entry */
};

static const char *const words[] = {
	[KL_LEDGER_RESERVE] = "reserve",
	[KL_LEDGER_SETTLE] = "settle",
	[KL_LEDGER_CORRECT] = "correct to",
};

static char *entry_subject(const struct kl_ledger_entry *entry)
{
	char money[KL_MONEY_TEXT];

	kl_money_text(money, entry->nano);
	return kl_asprintf("ledger: %s %s, %s of %s, turn %lld\n", words[entry->kind], money,
			   entry->phase, entry->name, (long long)entry->turn);
}

/*
 * Write the commit of the entry. It is not signed, since signing would ask for a passphrase at
 * every turn.
 */
static int write_commit(struct writer *writer)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *message = entry_subject(&writer->e);
	struct kl_tree_edit edit = { .path = KL_LEDGER_FILE };
	struct kl_commit_spec spec = { .message = message, .time = time(NULL) };
	int err;

	kl_ledger_entry_format(&text, &writer->e, writer->account);
	kl_repo_sync_objects(true);
	edit.data = text.ptr;
	edit.len = text.len;
	if (!git_oid_is_zero(&writer->base)) {
		spec.parent = &writer->base;
		spec.nparent = 1;
	}
	if (!(err = kl_repo_identity(&spec.author, writer->repo)) &&
	    !(err = kl_repo_tree_edit(&spec.tree, writer->repo, NULL, &edit, 1)))
		err = kl_repo_commit_write(&writer->made, writer->repo, &spec);
	kl_repo_sync_objects(false);
	return err;
}

static int move_ref(struct writer *writer)
{
	static const char *const log[] = {
		[KL_LEDGER_RESERVE] = "klineage: reserve",
		[KL_LEDGER_SETTLE] = "klineage: settle",
		[KL_LEDGER_CORRECT] = "klineage: correct",
	};
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(writer->repo);

	if (writer->also)
		kl_refs_txn_update(txn, writer->also->ref, &writer->also->to, &writer->also->from);
	kl_refs_txn_update(txn, writer->ref, &writer->made, &writer->base);
	return kl_refs_txn_commit(txn, log[writer->e.kind]);
}

/*
 * Return true if our entry has been added since the first try. A transaction that returned an error
 * can still have moved the ref, or another process can have completed the transaction.
 */
static bool is_there(struct writer *writer)
{
	bool found = false;
	git_oid at;

	if (kl_ledger_ref(&at, writer->repo, writer->ref) < 0)
		return false;
	while (!found && !git_oid_is_zero(&at) && memcmp(&at, &writer->first, sizeof(at))) {
		struct kl_ledger_entry entry;
		git_oid parent;

		if (kl_ledger_read_entry(&entry, &parent, writer->repo, &at, writer->account) < 0)
			return false;
		found = entry.kind == writer->e.kind && !strcmp(entry.id, writer->e.id) &&
			entry.nano == writer->e.nano;
		kl_ledger_entry_release(&entry);
		at = parent;
	}
	return found;
}

/*
 * Check that the ref that is to move together with the ledger still has its expected value.
 * Return KL_ECHANGED if another process has moved it.
 */
static int check_also(struct writer *writer)
{
	git_oid now;
	int err;

	if (!writer->also)
		return 0;
	if ((err = kl_ledger_ref(&now, writer->repo, writer->also->ref)) < 0)
		return err;
	if (memcmp(&now, &writer->also->from, sizeof(now)))
		return kl_error(KL_ECHANGED, "'%s' was updated by another process",
				writer->also->ref);
	return 0;
}

static void sleep_longer(int64_t *ms)
{
	kl_clock_sleep_ms(*ms + (int64_t)(kl_rng_os_seed() % (uint64_t)*ms));
	if (*ms < 200)
		*ms *= 2;
}

/*
 * Return true if a failed try can be repeated. A settlement books money that was spent, so an
 * interrupt must not prevent it.
 */
static bool may_retry(int err, bool reserves)
{
	return err == KL_ECHANGED || err == KL_EBUSY || (!reserves && err == KL_EINTR);
}

/*
 * Complete the entry, given the totals before it, and set w->e.after; fail if the totals do not
 * allow the entry.
 */
typedef int fit_fn(struct writer *w, const struct kl_ledger_totals *now, const void *payload);

static int try_entry(struct writer *writer, fit_fn *fit, const void *payload, bool again)
{
	struct kl_ledger_totals now;
	int err = kl_ledger_read_tip(&writer->base, &now, writer->repo, writer->ref,
				     writer->account);

	if (!again)
		writer->first = writer->base;
	if (err < 0 || (err = fit(writer, &now, payload)) < 0 || (err = write_commit(writer)) < 0 ||
	    (err = KL_FAULT("ledger-written")) < 0)
		return err;
	return move_ref(writer);
}

static int write_entry(struct writer *writer, fit_fn *fit, const void *payload)
{
	int64_t start = kl_clock_ns(), ms = 2;
	bool reserves = writer->e.kind == KL_LEDGER_RESERVE;
	int err;

	for (bool again = false;; again = true) {
		err = try_entry(writer, fit, payload, again);
		if (!err)
			break;
		if (!may_retry(err, reserves) ||
		    (kl_clock_ns() - start) / 1000000 > (reserves ? RESERVE_MS : SETTLE_MS))
			return kl_error_in(err, "'%s'", writer->ref);
		if (reserves && kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		/* a failed try can still have added the entry */
		if (is_there(writer))
			break;
		if ((err = check_also(writer)) < 0)
			return err;
		sleep_longer(&ms);
	}
	kl_error_clear();
	return KL_FAULT("ledger-moved");
}

static void writer_release(struct writer *writer)
{
	free(writer->ref);
	kl_ledger_entry_release(&writer->e);
}

static void fill_entry(struct writer *writer, const char *name, const char *phase,
		       const char *model)
{
	writer->ref = kl_ledger_account_ref(writer->account);
	writer->e.name = kl_strdup(name);
	writer->e.phase = kl_strdup(phase);
	writer->e.model = kl_strdup(model);
	writer->e.time = kl_calloc(1, 21);
	kl_clock_iso(writer->e.time);
}

static int too_little(const char *account, const struct kl_ledger_ask *ask,
		      const struct kl_ledger_totals *now, int64_t need)
{
	char left[KL_MONEY_TEXT], cap[KL_MONEY_TEXT], want[KL_MONEY_TEXT], settled[KL_MONEY_TEXT];
	char reserved[KL_MONEY_TEXT];
	int64_t spent = now->of[ask->budget].settled + now->of[ask->budget].reserved;
	int err;

	kl_money_text(cap, ask->cap);
	kl_money_text(want, need);
	kl_money_text(settled, now->of[ask->budget].settled);
	kl_money_text(reserved, now->of[ask->budget].reserved);
	kl_money_text(left, ask->cap > spent ? ask->cap - spent : 0);
	err = kl_error(KL_ENO,
		       "the budget does not allow a request that can cost up to %s: %s of %s are "
		       "left (%s spent, %s reserved)",
		       want, left, cap, settled, reserved);
	if (now->of[ask->budget].reserved)
		kl_error_hint(err,
			      "run 'git klineage chat settle' to settle abandoned reservations");
	if (strchr(account, '/'))
		return kl_error_hint(err, "the cap is that of --budget");
	return kl_error_hint(err, "the cap is config klineage.budget.%s",
			     kl_budget_name(ask->budget));
}

static int fit_reservation(struct writer *writer, const struct kl_ledger_totals *now,
			   const void *payload)
{
	const struct kl_ledger_ask *ask = payload;
	int64_t left = ask->cap - now->of[ask->budget].settled - now->of[ask->budget].reserved;
	int64_t need = ask->fixed + ask->per_token * ask->least_tokens, tokens = ask->tokens;

	if (ask->cap <= 0 || left < need)
		return too_little(writer->account, ask, now, need);
	if (ask->per_token && tokens > (left - ask->fixed) / ask->per_token)
		tokens = (left - ask->fixed) / ask->per_token;
	writer->e.nano = ask->fixed + ask->per_token * tokens;
	writer->e.turn = ask->turn;
	writer->e.after = *now;
	writer->e.after.of[ask->budget].reserved += writer->e.nano;
	return 0;
}

int kl_ledger_reserve(struct kl_reservation *out, struct kl_repo *repo, const char *account,
		      const struct kl_ledger_ask *ask)
{
	KL_AUTO(writer_release) struct writer writer = { .repo = repo, .account = account };
	int err;

	fill_entry(&writer, ask->name, ask->phase, ask->model);
	writer.e.budget = ask->budget;
	snprintf(writer.e.id, sizeof(writer.e.id), "%016llx%016llx",
		 (unsigned long long)kl_rng_os_seed(), (unsigned long long)kl_rng_os_seed());
	if ((err = write_entry(&writer, fit_reservation, ask)) < 0)
		return err;
	memcpy(out->id, writer.e.id, sizeof(out->id));
	out->nano = writer.e.nano;
	out->tokens = ask->per_token ? (writer.e.nano - ask->fixed) / ask->per_token : ask->tokens;
	return 0;
}

static int fit_settlement(struct writer *writer, const struct kl_ledger_totals *now,
			  const void *payload)
{
	enum kl_budget budget = writer->e.budget;

	writer->e.after = *now;
	writer->e.after.of[budget].reserved -= writer->e.released;
	writer->e.after.of[budget].settled += writer->e.nano;
	if (writer->e.after.of[budget].reserved < 0 ||
	    writer->e.after.of[budget].settled > KL_LEDGER_MAX_SUM)
		return kl_error(
			KL_EINVALID,
			"the totals of '%s' do not add up; run 'git klineage fsck' for details",
			writer->ref);
	return 0;
}

int kl_ledger_settle(struct kl_repo *repo, const char *account, const struct kl_ledger_bill *bill,
		     const struct kl_ledger_also *also)
{
	KL_AUTO(writer_release) struct writer writer = { .repo = repo,
							 .account = account,
							 .also = also };

	fill_entry(&writer, bill->name, bill->phase, bill->model);
	writer.e.kind = KL_LEDGER_SETTLE;
	memcpy(writer.e.id, bill->reservation->id, sizeof(writer.e.id));
	writer.e.budget = bill->budget;
	writer.e.turn = bill->turn;
	writer.e.nano = bill->nano;
	writer.e.released = bill->reservation->nano;
	writer.e.stated = bill->stated;
	writer.e.implausible = bill->implausible;
	writer.e.estimated = bill->estimated;
	if (bill->usage)
		writer.e.usage = *bill->usage;
	return write_entry(&writer, fit_settlement, NULL);
}

/* --- corrections ------------------------------------------------------------------ */

/* Find the current settled amount of the reservation; another process can have corrected it. */
static int find_settled(struct writer *writer)
{
	KL_AUTO(kl_ledger_release) struct kl_ledger ledger = { 0 };
	const struct kl_ledger_entry *last = NULL;
	int err = kl_ledger_load(&ledger, writer->repo, writer->account);

	for (size_t i = 0; !err && i < ledger.n; i++)
		if (!strcmp(ledger.e[i].id, writer->e.id))
			last = &ledger.e[i];
	if (err < 0)
		return err;
	if (!last)
		return kl_error(KL_ENOTFOUND, "there is no reservation %s", writer->e.id);
	if (last->kind == KL_LEDGER_RESERVE)
		return kl_error(KL_EINVALID, "reservation %s is not settled", writer->e.id);
	writer->e.before = last->nano;
	writer->e.budget = last->budget;
	writer->e.turn = last->turn;
	if (!writer->e.name)
		fill_entry(writer, last->name, last->phase, last->model);
	return 0;
}

static int fit_correction(struct writer *writer, const struct kl_ledger_totals *now,
			  const void *payload)
{
	int err = find_settled(writer);

	if (err < 0)
		return err;
	writer->e.after = *now;
	writer->e.after.of[writer->e.budget].settled += kl_ledger_settled_by(&writer->e);
	if (writer->e.after.of[writer->e.budget].settled < 0)
		return kl_error(
			KL_EINVALID,
			"the totals of '%s' do not add up; run 'git klineage fsck' for details",
			writer->ref);
	return 0;
}

int kl_ledger_correct(int64_t *before, struct kl_repo *repo, const char *account, const char *id,
		      int64_t nano)
{
	KL_AUTO(writer_release) struct writer writer = { .repo = repo, .account = account };
	int err;

	writer.e.kind = KL_LEDGER_CORRECT;
	snprintf(writer.e.id, sizeof(writer.e.id), "%s", id);
	writer.e.nano = nano;
	writer.e.stated = true;
	if ((err = find_settled(&writer)) < 0 ||
	    (err = write_entry(&writer, fit_correction, NULL)) < 0)
		return err;
	*before = writer.e.before;
	return 0;
}
