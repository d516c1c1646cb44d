/* SPDX-License-Identifier: Apache-2.0 */
#include "model/ledger.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/proc.h"
#include "base/rng.h"
#include "model/money.h"
#include "model/provider/usage.h"
#include "repo/refs.h"
#include "text/json.h"

#define INDUCE_CAP (40 * KL_DOLLAR)
#define MATERIALIZE_CAP (10 * KL_DOLLAR)
#define SCHEMA "klineage.ledger/1"
#define FILE_NAME "ledger.json"
#define MAX_ENTRY ((size_t)16 << 10)
#define MAX_ENTRIES 1000000
#define MAX_SUM (INT64_MAX / 4)
#define RESERVE_MS 30000 /* other processes hold the ref only for milliseconds */
#define SETTLE_MS 180000

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

void kl_ledger_entry_release(struct kl_ledger_entry *entry)
{
	free(entry->name);
	free(entry->phase);
	free(entry->model);
	free(entry->time);
}

void kl_ledger_release(struct kl_ledger *ledger)
{
	for (size_t i = 0; i < ledger->n; i++)
		kl_ledger_entry_release(&ledger->e[i]);
	free(ledger->e);
	*ledger = (struct kl_ledger){ 0 };
}

/* --- an entry as JSON ----------------------------------------------------------- */

static json_t *totals_json(const struct kl_ledger_totals *totals)
{
	json_t *obj = json_object();

	for (int budget = 0; budget < KL_BUDGETS; budget++) {
		json_t *one = json_object();

		kl_json_set_int(one, "settled", totals->of[budget].settled);
		kl_json_set_int(one, "reserved", totals->of[budget].reserved);
		kl_json_set(obj, kl_budget_name(budget), one);
	}
	return obj;
}

void kl_ledger_entry_format(struct kl_buf *out, const struct kl_ledger_entry *entry,
			    const char *workload)
{
	KL_AUTO(json_decrefp) json_t *obj = json_object();

	kl_json_set_str(obj, "schema", SCHEMA);
	kl_json_set_str(obj, "workload", workload);
	kl_json_set_str(obj, "kind", entry->settles ? "settle" : "reserve");
	kl_json_set_str(obj, "id", entry->id);
	kl_json_set_str(obj, "budget", kl_budget_name(entry->budget));
	kl_json_set_str(obj, "name", entry->name);
	kl_json_set_str(obj, "phase", entry->phase);
	kl_json_set_str(obj, "model", entry->model);
	kl_json_set_str(obj, "time", entry->time);
	kl_json_set_int(obj, "turn", entry->turn);
	kl_json_set_int(obj, "nano", entry->nano);
	if (entry->settles) {
		kl_json_set_int(obj, "released", entry->released);
		kl_json_set(obj, "usage", kl_usage_json(&entry->usage));
	}
	if (entry->stated)
		kl_json_set_bool(obj, "stated", true);
	if (entry->implausible)
		kl_json_set_bool(obj, "implausible", true);
	kl_json_set(obj, "totals", totals_json(&entry->after));
	kl_json_canonical(out, obj);
	kl_buf_addch(out, '\n');
}

static int read_sum(int64_t *out, const json_t *obj, const char *key)
{
	int err = kl_json_int(out, obj, key);

	if (!err && (*out < 0 || *out > MAX_SUM))
		return kl_error(KL_EINVALID, "'%s' is negative or too large", key);
	return err;
}

static int read_totals(struct kl_ledger_totals *totals, const json_t *entry)
{
	json_t *all = NULL, *one = NULL;
	int err = kl_json_obj(&all, entry, "totals");

	for (int budget = 0; !err && budget < KL_BUDGETS; budget++)
		if (!(err = kl_json_obj(&one, all, kl_budget_name(budget))) &&
		    !(err = read_sum(&totals->of[budget].settled, one, "settled")))
			err = read_sum(&totals->of[budget].reserved, one, "reserved");
	return err;
}

static int read_text(char **out, const json_t *obj, const char *key)
{
	const char *text;
	int err = kl_json_str(&text, obj, key);

	if (!err && (strlen(text) > 256 || text[strcspn(text, "\n\r\t\033\177")]))
		return kl_error(KL_EINVALID, "'%s' is too long or not plain text", key);
	if (!err)
		*out = kl_strdup(text);
	return err;
}

/* Schema, workload, kind, id and budget: words of a fixed set or form. */
static int read_words(struct kl_ledger_entry *entry, const json_t *obj, const char *workload)
{
	const char *schema = kl_json_str_or(obj, "schema", ""),
		   *of = kl_json_str_or(obj, "workload", "");
	const char *kind = kl_json_str_or(obj, "kind", ""), *id = kl_json_str_or(obj, "id", "");
	const char *budget = kl_json_str_or(obj, "budget", "");

	if (strcmp(schema, SCHEMA))
		return kl_error(KL_EINVALID, "its schema is not " SCHEMA);
	if (strcmp(of, workload))
		return kl_error(KL_EINVALID, "it is for workload '%.64s'", of);
	if (strcmp(kind, "settle") && strcmp(kind, "reserve"))
		return kl_error(KL_EINVALID, "'kind' is neither reserve nor settle");
	if (strlen(id) != KL_LEDGER_ID - 1 || id[strspn(id, "0123456789abcdef")])
		return kl_error(KL_EINVALID, "'id' is not 32 hex digits");
	if (strcmp(budget, "induce") && strcmp(budget, "materialize"))
		return kl_error(KL_EINVALID, "'budget' is neither induce nor materialize");
	entry->settles = !strcmp(kind, "settle");
	memcpy(entry->id, id, KL_LEDGER_ID);
	entry->budget = strcmp(budget, "induce") ? KL_BUDGET_MATERIALIZE : KL_BUDGET_INDUCE;
	return 0;
}

static int read_members(struct kl_ledger_entry *entry, const char *text, size_t len,
			const char *workload)
{
	KL_AUTO(json_decrefp) json_t *obj = NULL;
	int err = kl_json_parse(&obj, text, len);

	if (err < 0 || (err = read_words(entry, obj, workload)) < 0 ||
	    (err = read_text(&entry->name, obj, "name")) < 0 ||
	    (err = read_text(&entry->phase, obj, "phase")) < 0 ||
	    (err = read_text(&entry->model, obj, "model")) < 0 ||
	    (err = read_text(&entry->time, obj, "time")) < 0 ||
	    (err = read_sum(&entry->turn, obj, "turn")) < 0 ||
	    (err = read_sum(&entry->nano, obj, "nano")) < 0 ||
	    (err = read_totals(&entry->after, obj)) < 0)
		return err;
	if (!entry->settles)
		return 0;
	if ((err = read_sum(&entry->released, obj, "released")) < 0)
		return err;
	entry->stated = kl_json_bool_or(obj, "stated", false);
	entry->implausible = kl_json_bool_or(obj, "implausible", false);
	return kl_usage_read(&entry->usage, json_object_get(obj, "usage"));
}

int kl_ledger_entry_parse(struct kl_ledger_entry *out, const char *text, size_t len,
			  const char *workload)
{
	struct kl_ledger_entry entry = { 0 };
	int err = read_members(&entry, text, len, workload);

	if (err < 0)
		kl_ledger_entry_release(&entry);
	else
		*out = entry;
	return err;
}

static int read_entry(struct kl_ledger_entry *out, git_oid *parent, struct kl_repo *repo,
		      const git_oid *at, const char *workload)
{
	KL_AUTO(kl_commit_release) struct kl_commit commit = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_ledger_entry entry;
	git_oid blob;
	int err = kl_repo_commit_read(&commit, repo, at);

	if (!err && commit.nparent > 1)
		err = kl_error(KL_EINVALID, "it is a merge commit");
	if (!err && !(err = kl_repo_tree_entry(&blob, NULL, repo, &commit.tree, FILE_NAME)) &&
	    !(err = kl_repo_blob_read(&text, repo, &blob, MAX_ENTRY)))
		err = kl_ledger_entry_parse(&entry, text.ptr, text.len, workload);
	if (err < 0) {
		char hex[KL_OID_HEX];

		kl_oid_hex(hex, at);
		return kl_error_in(KL_EINVALID, KL_LEDGER_REFS "%s, entry %.12s", workload, hex);
	}
	memset(parent, 0, sizeof(*parent));
	if (commit.nparent)
		*parent = commit.parent[0];
	entry.commit = *at;
	*out = entry;
	return 0;
}

static bool is_zero(const git_oid *oid)
{
	static const git_oid zero;

	return !memcmp(oid, &zero, sizeof(zero));
}

static int get_ref(git_oid *out, struct kl_repo *repo, const char *ref)
{
	int err = kl_refs_get(out, repo, ref);

	if (err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	memset(out, 0, sizeof(*out));
	return 0;
}

/* Bound the sum of all amounts, so that no sum over entries can overflow. */
static int add_sum(int64_t *sum, const struct kl_ledger_entry *entry, const char *ref)
{
	if (entry->nano > MAX_SUM - *sum || entry->released > MAX_SUM - *sum - entry->nano)
		return kl_error(KL_EINVALID, "the amounts in '%s' are too large", ref);
	*sum += entry->nano + entry->released;
	return 0;
}

int kl_ledger_load(struct kl_ledger *out, struct kl_repo *repo, const char *workload)
{
	KL_AUTO(kl_freep) char *ref = kl_asprintf(KL_LEDGER_REFS "%s", workload);
	KL_AUTO(kl_ledger_release) struct kl_ledger ledger = { 0 };
	int64_t sum = 0;
	git_oid at;
	int err = get_ref(&at, repo, ref);

	while (!err && !is_zero(&at)) {
		git_oid parent;

		if (ledger.n == MAX_ENTRIES)
			return kl_error(KL_EINVALID, "'%s' has more than %d entries", ref,
					MAX_ENTRIES);
		KL_GROW(ledger.e, ledger.n + 1, ledger.alloc);
		if (!(err = read_entry(&ledger.e[ledger.n], &parent, repo, &at, workload)))
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

static int read_tip(git_oid *tip, struct kl_ledger_totals *totals, struct kl_repo *repo,
		    const char *ref, const char *workload)
{
	struct kl_ledger_entry entry;
	git_oid parent;
	int err = get_ref(tip, repo, ref);

	*totals = (struct kl_ledger_totals){ 0 };
	if (err < 0 || is_zero(tip))
		return err;
	if ((err = read_entry(&entry, &parent, repo, tip, workload)) < 0)
		return kl_error_hint(err, "run 'git klineage fsck' for details");
	*totals = entry.after;
	kl_ledger_entry_release(&entry);
	return 0;
}

int kl_ledger_totals(struct kl_ledger_totals *out, struct kl_repo *repo, const char *workload)
{
	KL_AUTO(kl_freep) char *ref = kl_asprintf(KL_LEDGER_REFS "%s", workload);
	git_oid tip;

	return read_tip(&tip, out, repo, ref, workload);
}

/* --- writing -------------------------------------------------------------------- */

struct writer {
	struct kl_repo *repo;
	const char *workload;
	char *ref;
	struct kl_ledger_entry e;
	const struct kl_ledger_also *also;
	git_oid first, base, made; /* tip at the first try; tip at this try; our commit */
};

static char *entry_subject(const struct kl_ledger_entry *entry)
{
	char money[KL_MONEY_TEXT];

	kl_money_text(money, entry->nano);
	return kl_asprintf("ledger: %s %s, %s of %s, turn %lld\n",
			   entry->settles ? "settle" : "reserve", money, entry->phase, entry->name,
			   (long long)entry->turn);
}

/* Not signed: signing would ask for a passphrase at every turn. */
static int write_commit(struct writer *writer)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *message = entry_subject(&writer->e);
	struct kl_tree_edit edit = { .path = FILE_NAME };
	struct kl_commit_spec spec = { .message = message, .time = time(NULL) };
	int err;

	kl_ledger_entry_format(&text, &writer->e, writer->workload);
	kl_repo_sync_objects(true);
	edit.data = text.ptr;
	edit.len = text.len;
	if (!is_zero(&writer->base)) {
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
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(writer->repo);

	if (writer->also)
		kl_refs_txn_update(txn, writer->also->ref, &writer->also->to, &writer->also->from);
	kl_refs_txn_update(txn, writer->ref, &writer->made, &writer->base);
	return kl_refs_txn_commit(txn,
				  writer->e.settles ? "klineage: settle" : "klineage: reserve");
}

/*
 * A transaction that failed late can have moved the ref nevertheless, or be completed by another
 * process. Has our entry been added since the first try?
 */
static bool is_there(struct writer *writer)
{
	bool found = false;
	git_oid at;

	if (get_ref(&at, writer->repo, writer->ref) < 0)
		return false;
	while (!found && !is_zero(&at) && memcmp(&at, &writer->first, sizeof(at))) {
		struct kl_ledger_entry entry;
		git_oid parent;

		if (read_entry(&entry, &parent, writer->repo, &at, writer->workload) < 0)
			return false;
		found = entry.settles == writer->e.settles && !strcmp(entry.id, writer->e.id);
		kl_ledger_entry_release(&entry);
		at = parent;
	}
	return found;
}

/* KL_ECHANGED if another process has moved the ref that moves with ours. */
static int check_also(struct writer *writer)
{
	git_oid now;
	int err;

	if (!writer->also)
		return 0;
	if ((err = get_ref(&now, writer->repo, writer->also->ref)) < 0)
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

static bool may_retry(int err, bool settles)
{
	return err == KL_ECHANGED || err == KL_EBUSY || (settles && err == KL_EINTR);
}

/* Complete the entry for these totals (sets w->e.after), or fail if they do not allow it. */
typedef int fit_fn(struct writer *w, const struct kl_ledger_totals *now, const void *payload);

static int try_entry(struct writer *writer, fit_fn *fit, const void *payload, bool again)
{
	struct kl_ledger_totals now;
	int err = read_tip(&writer->base, &now, writer->repo, writer->ref, writer->workload);

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
	int err;

	for (bool again = false;; again = true) {
		err = try_entry(writer, fit, payload, again);
		if (!err)
			break;
		if (!may_retry(err, writer->e.settles) ||
		    (kl_clock_ns() - start) / 1000000 >
			    (writer->e.settles ? SETTLE_MS : RESERVE_MS))
			return kl_error_in(err, "'%s'", writer->ref);
		if (!writer->e.settles && kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		/* an earlier try can have succeeded after all */
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
	writer->ref = kl_asprintf(KL_LEDGER_REFS "%s", writer->workload);
	writer->e.name = kl_strdup(name);
	writer->e.phase = kl_strdup(phase);
	writer->e.model = kl_strdup(model);
	writer->e.time = kl_calloc(1, 21);
	kl_clock_iso(writer->e.time);
}

static int too_little(const struct kl_ledger_ask *ask, const struct kl_ledger_totals *now,
		      int64_t need)
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
	err = kl_error(
		KL_ENO,
		"the budget does not allow it: a request can cost up to %s, %s of %s are left (%s "
		"spent, %s reserved)",
		want, left, cap, settled, reserved);
	if (now->of[ask->budget].reserved)
		kl_error_hint(err,
			      "run 'git klineage chat settle' to settle abandoned reservations");
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
		return too_little(ask, now, need);
	if (ask->per_token && tokens > (left - ask->fixed) / ask->per_token)
		tokens = (left - ask->fixed) / ask->per_token;
	writer->e.nano = ask->fixed + ask->per_token * tokens;
	writer->e.turn = ask->turn;
	writer->e.after = *now;
	writer->e.after.of[ask->budget].reserved += writer->e.nano;
	return 0;
}

int kl_ledger_reserve(struct kl_reservation *out, struct kl_repo *repo, const char *workload,
		      const struct kl_ledger_ask *ask)
{
	KL_AUTO(writer_release) struct writer writer = { .repo = repo, .workload = workload };
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
	if (writer->e.after.of[budget].reserved < 0 || writer->e.after.of[budget].settled > MAX_SUM)
		return kl_error(KL_EINVALID,
				"'%s' does not add up; run 'git klineage fsck' for details",
				writer->ref);
	return 0;
}

int kl_ledger_settle(struct kl_repo *repo, const char *workload, const struct kl_ledger_bill *bill,
		     const struct kl_ledger_also *also)
{
	KL_AUTO(writer_release) struct writer writer = { .repo = repo,
							 .workload = workload,
							 .also = also };

	fill_entry(&writer, bill->name, bill->phase, bill->model);
	writer.e.settles = true;
	memcpy(writer.e.id, bill->reservation->id, sizeof(writer.e.id));
	writer.e.budget = bill->budget;
	writer.e.turn = bill->turn;
	writer.e.nano = bill->nano;
	writer.e.released = bill->reservation->nano;
	writer.e.stated = bill->stated;
	writer.e.implausible = bill->implausible;
	if (bill->usage)
		writer.e.usage = *bill->usage;
	return write_entry(&writer, fit_settlement, NULL);
}
