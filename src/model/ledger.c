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
#define RESERVE_MS 30000 /* others only hold the ref for milliseconds */
#define SETTLE_MS 180000

const char *kl_budget_name(enum kl_budget b)
{
	return b == KL_BUDGET_INDUCE ? "induce" : "materialize";
}

int kl_budget_cap(int64_t *cap, struct kl_repo *repo, enum kl_budget b)
{
	return b == KL_BUDGET_INDUCE ?
		       kl_money_config(cap, repo, "klineage.budget.induce", INDUCE_CAP) :
		       kl_money_config(cap, repo, "klineage.budget.materialize", MATERIALIZE_CAP);
}

void kl_ledger_entry_release(struct kl_ledger_entry *e)
{
	free(e->name);
	free(e->phase);
	free(e->model);
	free(e->time);
}

void kl_ledger_release(struct kl_ledger *l)
{
	for (size_t i = 0; i < l->n; i++)
		kl_ledger_entry_release(&l->e[i]);
	free(l->e);
	*l = (struct kl_ledger){ 0 };
}

/* --- an entry as JSON ----------------------------------------------------------- */

static json_t *totals_json(const struct kl_ledger_totals *t)
{
	json_t *j = json_object();

	for (int b = 0; b < KL_BUDGETS; b++) {
		json_t *one = json_object();

		kl_json_set_int(one, "settled", t->of[b].settled);
		kl_json_set_int(one, "reserved", t->of[b].reserved);
		kl_json_set(j, kl_budget_name(b), one);
	}
	return j;
}

void kl_ledger_entry_format(struct kl_buf *out, const struct kl_ledger_entry *e,
			    const char *workload)
{
	KL_AUTO(json_decrefp) json_t *j = json_object();

	kl_json_set_str(j, "schema", SCHEMA);
	kl_json_set_str(j, "workload", workload);
	kl_json_set_str(j, "kind", e->settles ? "settle" : "reserve");
	kl_json_set_str(j, "id", e->id);
	kl_json_set_str(j, "budget", kl_budget_name(e->budget));
	kl_json_set_str(j, "name", e->name);
	kl_json_set_str(j, "phase", e->phase);
	kl_json_set_str(j, "model", e->model);
	kl_json_set_str(j, "time", e->time);
	kl_json_set_int(j, "turn", e->turn);
	kl_json_set_int(j, "nano", e->nano);
	if (e->settles) {
		kl_json_set_int(j, "released", e->released);
		kl_json_set(j, "usage", kl_usage_json(&e->usage));
	}
	if (e->stated)
		kl_json_set_bool(j, "stated", true);
	kl_json_set(j, "totals", totals_json(&e->after));
	kl_json_canonical(out, j);
	kl_buf_addch(out, '\n');
}

static int read_sum(int64_t *out, const json_t *j, const char *key)
{
	int err = kl_json_int(out, j, key);

	if (!err && (*out < 0 || *out > MAX_SUM))
		return kl_error(KL_EINVALID, "'%s' is no sum of money", key);
	return err;
}

static int read_totals(struct kl_ledger_totals *t, const json_t *entry)
{
	json_t *all = NULL, *one = NULL;
	int err = kl_json_obj(&all, entry, "totals");

	for (int b = 0; !err && b < KL_BUDGETS; b++)
		if (!(err = kl_json_obj(&one, all, kl_budget_name(b))) &&
		    !(err = read_sum(&t->of[b].settled, one, "settled")))
			err = read_sum(&t->of[b].reserved, one, "reserved");
	return err;
}

static int read_text(char **out, const json_t *j, const char *key)
{
	const char *s;
	int err = kl_json_str(&s, j, key);

	if (!err && (strlen(s) > 256 || s[strcspn(s, "\n\r\t\033\177")]))
		return kl_error(KL_EINVALID, "'%s' is too long, or no plain text", key);
	if (!err)
		*out = kl_strdup(s);
	return err;
}

/* budget, kind and id: words of a fixed set or form */
static int read_words(struct kl_ledger_entry *e, const json_t *j, const char *workload)
{
	const char *schema = kl_json_str_or(j, "schema", ""),
		   *of = kl_json_str_or(j, "workload", "");
	const char *kind = kl_json_str_or(j, "kind", ""), *id = kl_json_str_or(j, "id", "");
	const char *budget = kl_json_str_or(j, "budget", "");

	if (strcmp(schema, SCHEMA))
		return kl_error(KL_EINVALID, "its schema is not " SCHEMA);
	if (strcmp(of, workload))
		return kl_error(KL_EINVALID, "it is of workload '%.64s'", of);
	if (strcmp(kind, "settle") && strcmp(kind, "reserve"))
		return kl_error(KL_EINVALID, "'kind' is neither reserve nor settle");
	if (strlen(id) != KL_LEDGER_ID - 1 || id[strspn(id, "0123456789abcdef")])
		return kl_error(KL_EINVALID, "'id' is not 32 hex digits");
	if (strcmp(budget, "induce") && strcmp(budget, "materialize"))
		return kl_error(KL_EINVALID, "'budget' is neither induce nor materialize");
	e->settles = !strcmp(kind, "settle");
	memcpy(e->id, id, KL_LEDGER_ID);
	e->budget = strcmp(budget, "induce") ? KL_BUDGET_MATERIALIZE : KL_BUDGET_INDUCE;
	return 0;
}

static int read_members(struct kl_ledger_entry *e, const char *text, size_t len,
			const char *workload)
{
	KL_AUTO(json_decrefp) json_t *j = NULL;
	int err = kl_json_parse(&j, text, len);

	if (err < 0 || (err = read_words(e, j, workload)) < 0 ||
	    (err = read_text(&e->name, j, "name")) < 0 ||
	    (err = read_text(&e->phase, j, "phase")) < 0 ||
	    (err = read_text(&e->model, j, "model")) < 0 ||
	    (err = read_text(&e->time, j, "time")) < 0 ||
	    (err = read_sum(&e->turn, j, "turn")) < 0 ||
	    (err = read_sum(&e->nano, j, "nano")) < 0 || (err = read_totals(&e->after, j)) < 0)
		return err;
	if (!e->settles)
		return 0;
	if ((err = read_sum(&e->released, j, "released")) < 0)
		return err;
	e->stated = kl_json_bool_or(j, "stated", false);
	return kl_usage_read(&e->usage, json_object_get(j, "usage"));
}

int kl_ledger_entry_parse(struct kl_ledger_entry *out, const char *text, size_t len,
			  const char *workload)
{
	struct kl_ledger_entry e = { 0 };
	int err = read_members(&e, text, len, workload);

	if (err < 0)
		kl_ledger_entry_release(&e);
	else
		*out = e;
	return err;
}

static int read_entry(struct kl_ledger_entry *out, git_oid *parent, struct kl_repo *repo,
		      const git_oid *at, const char *workload)
{
	KL_AUTO(kl_commit_release) struct kl_commit c = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_ledger_entry e;
	git_oid blob;
	int err = kl_repo_commit_read(&c, repo, at);

	if (!err && c.nparent > 1)
		err = kl_error(KL_EINVALID, "it is a merge");
	if (!err && !(err = kl_repo_tree_entry(&blob, NULL, repo, &c.tree, FILE_NAME)) &&
	    !(err = kl_repo_blob_read(&text, repo, &blob, MAX_ENTRY)))
		err = kl_ledger_entry_parse(&e, text.ptr, text.len, workload);
	if (err < 0) {
		char hex[KL_OID_HEX];

		kl_oid_hex(hex, at);
		return kl_error_in(KL_EINVALID, KL_LEDGER_REFS "%s, entry %.12s", workload, hex);
	}
	memset(parent, 0, sizeof(*parent));
	if (c.nparent)
		*parent = c.parent[0];
	e.commit = *at;
	*out = e;
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

/* whoever adds up entries, in whatever way, need not fear for the size of his sums */
static int add_sum(int64_t *sum, const struct kl_ledger_entry *e, const char *ref)
{
	if (e->nano > MAX_SUM - *sum || e->released > MAX_SUM - *sum - e->nano)
		return kl_error(KL_EINVALID, "'%s' has more money in it than there is", ref);
	*sum += e->nano + e->released;
	return 0;
}

int kl_ledger_load(struct kl_ledger *out, struct kl_repo *repo, const char *workload)
{
	KL_AUTO(kl_freep) char *ref = kl_asprintf(KL_LEDGER_REFS "%s", workload);
	KL_AUTO(kl_ledger_release) struct kl_ledger l = { 0 };
	int64_t sum = 0;
	git_oid at;
	int err = get_ref(&at, repo, ref);

	while (!err && !is_zero(&at)) {
		git_oid parent;

		if (l.n == MAX_ENTRIES)
			return kl_error(KL_EINVALID, "'%s' has more than %d entries", ref,
					MAX_ENTRIES);
		KL_GROW(l.e, l.n + 1, l.alloc);
		if (!(err = read_entry(&l.e[l.n], &parent, repo, &at, workload)))
			err = add_sum(&sum, &l.e[l.n++], ref);
		at = parent;
	}
	if (err < 0)
		return err;
	for (size_t i = 0; i < l.n / 2; i++) {
		struct kl_ledger_entry e = l.e[i];

		l.e[i] = l.e[l.n - 1 - i];
		l.e[l.n - 1 - i] = e;
	}
	*out = l;
	l = (struct kl_ledger){ 0 };
	return 0;
}

/* --- the tip -------------------------------------------------------------------- */

static int read_tip(git_oid *tip, struct kl_ledger_totals *totals, struct kl_repo *repo,
		    const char *ref, const char *workload)
{
	struct kl_ledger_entry e;
	git_oid parent;
	int err = get_ref(tip, repo, ref);

	*totals = (struct kl_ledger_totals){ 0 };
	if (err < 0 || is_zero(tip))
		return err;
	if ((err = read_entry(&e, &parent, repo, tip, workload)) < 0)
		return kl_error_hint(err, "'git klineage fsck' says more");
	*totals = e.after;
	kl_ledger_entry_release(&e);
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
	git_oid first, base, made; /* the tip at the first try, at this one; our commit */
};

static char *entry_subject(const struct kl_ledger_entry *e)
{
	char money[KL_MONEY_TEXT];

	kl_money_text(money, e->nano);
	return kl_asprintf("ledger: %s %s, %s of %s, turn %lld\n",
			   e->settles ? "settle" : "reserve", money, e->phase, e->name,
			   (long long)e->turn);
}

/* without a signature: a pass phrase for each turn would be none at all */
static int write_commit(struct writer *w)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *message = entry_subject(&w->e);
	struct kl_tree_edit edit = { .path = FILE_NAME };
	struct kl_commit_spec s = { .message = message, .time = time(NULL) };
	int err;

	kl_ledger_entry_format(&text, &w->e, w->workload);
	kl_repo_sync_objects(true);
	edit.data = text.ptr;
	edit.len = text.len;
	if (!is_zero(&w->base)) {
		s.parent = &w->base;
		s.nparent = 1;
	}
	if (!(err = kl_repo_identity(&s.author, w->repo)) &&
	    !(err = kl_repo_tree_edit(&s.tree, w->repo, NULL, &edit, 1)))
		err = kl_repo_commit_write(&w->made, w->repo, &s);
	kl_repo_sync_objects(false);
	return err;
}

static int move_ref(struct writer *w)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *t = kl_refs_txn_new(w->repo);

	if (w->also)
		kl_refs_txn_update(t, w->also->ref, &w->also->to, &w->also->from);
	kl_refs_txn_update(t, w->ref, &w->made, &w->base);
	return kl_refs_txn_commit(t, w->e.settles ? "klineage: settle" : "klineage: reserve");
}

/*
 * A transaction that failed late may have moved all the same, or be finished by whoever comes
 * next: is there an entry like ours since the first try?
 */
static bool is_there(struct writer *w)
{
	bool found = false;
	git_oid at;

	if (get_ref(&at, w->repo, w->ref) < 0)
		return false;
	while (!found && !is_zero(&at) && memcmp(&at, &w->first, sizeof(at))) {
		struct kl_ledger_entry e;
		git_oid parent;

		if (read_entry(&e, &parent, w->repo, &at, w->workload) < 0)
			return false;
		found = e.settles == w->e.settles && !strcmp(e.id, w->e.id);
		kl_ledger_entry_release(&e);
		at = parent;
	}
	return found;
}

/* Has the ref that moves with ours been moved by somebody else? */
static int check_also(struct writer *w)
{
	git_oid now;
	int err;

	if (!w->also)
		return 0;
	if ((err = get_ref(&now, w->repo, w->also->ref)) < 0)
		return err;
	if (memcmp(&now, &w->also->from, sizeof(now)))
		return kl_error(KL_ECHANGED, "'%s' was moved meanwhile", w->also->ref);
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

/* what the entry is to be on these totals: sets w->e.after, or says that it cannot be */
typedef int fit_fn(struct writer *w, const struct kl_ledger_totals *now, const void *payload);

static int try_entry(struct writer *w, fit_fn *fit, const void *payload, bool again)
{
	struct kl_ledger_totals now;
	int err = read_tip(&w->base, &now, w->repo, w->ref, w->workload);

	if (!again)
		w->first = w->base;
	if (err < 0 || (err = fit(w, &now, payload)) < 0 || (err = write_commit(w)) < 0 ||
	    (err = KL_FAULT("ledger-written")) < 0)
		return err;
	return move_ref(w);
}

static int write_entry(struct writer *w, fit_fn *fit, const void *payload)
{
	int64_t start = kl_clock_ns(), ms = 2;
	int err;

	for (bool again = false;; again = true) {
		err = try_entry(w, fit, payload, again);
		if (!err)
			break;
		if (!may_retry(err, w->e.settles) ||
		    (kl_clock_ns() - start) / 1000000 > (w->e.settles ? SETTLE_MS : RESERVE_MS))
			return kl_error_in(err, "'%s'", w->ref);
		if (!w->e.settles && kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		/* what an earlier try wrote may have come to be */
		if (is_there(w))
			break;
		if ((err = check_also(w)) < 0)
			return err;
		sleep_longer(&ms);
	}
	kl_error_clear();
	return KL_FAULT("ledger-moved");
}

static void writer_release(struct writer *w)
{
	free(w->ref);
	kl_ledger_entry_release(&w->e);
}

static void fill_entry(struct writer *w, const char *name, const char *phase, const char *model)
{
	w->ref = kl_asprintf(KL_LEDGER_REFS "%s", w->workload);
	w->e.name = kl_strdup(name);
	w->e.phase = kl_strdup(phase);
	w->e.model = kl_strdup(model);
	w->e.time = kl_calloc(1, 21);
	kl_clock_iso(w->e.time);
}

static int too_little(const struct kl_ledger_ask *a, const struct kl_ledger_totals *now,
		      int64_t need)
{
	char left[KL_MONEY_TEXT], cap[KL_MONEY_TEXT], want[KL_MONEY_TEXT], settled[KL_MONEY_TEXT];
	char reserved[KL_MONEY_TEXT];
	int64_t spent = now->of[a->budget].settled + now->of[a->budget].reserved;
	int err;

	kl_money_text(cap, a->cap);
	kl_money_text(want, need);
	kl_money_text(settled, now->of[a->budget].settled);
	kl_money_text(reserved, now->of[a->budget].reserved);
	kl_money_text(left, a->cap > spent ? a->cap - spent : 0);
	err = kl_error(KL_ENO,
		       "the budget does not allow it: a request needs %s at worst, %s of %s are "
		       "left (%s spent, %s reserved)",
		       want, left, cap, settled, reserved);
	if (now->of[a->budget].reserved)
		kl_error_hint(err, "'git klineage chat settle' ends reservations that broke off");
	return kl_error_hint(err, "config klineage.budget.%s is the cap",
			     kl_budget_name(a->budget));
}

static int fit_reservation(struct writer *w, const struct kl_ledger_totals *now,
			   const void *payload)
{
	const struct kl_ledger_ask *a = payload;
	int64_t left = a->cap - now->of[a->budget].settled - now->of[a->budget].reserved;
	int64_t need = a->fixed + a->per_token * a->least_tokens, tokens = a->tokens;

	if (a->cap <= 0 || left < need)
		return too_little(a, now, need);
	if (a->per_token && tokens > (left - a->fixed) / a->per_token)
		tokens = (left - a->fixed) / a->per_token;
	w->e.nano = a->fixed + a->per_token * tokens;
	w->e.turn = a->turn;
	w->e.after = *now;
	w->e.after.of[a->budget].reserved += w->e.nano;
	return 0;
}

int kl_ledger_reserve(struct kl_reservation *out, struct kl_repo *repo, const char *workload,
		      const struct kl_ledger_ask *ask)
{
	KL_AUTO(writer_release) struct writer w = { .repo = repo, .workload = workload };
	int err;

	fill_entry(&w, ask->name, ask->phase, ask->model);
	w.e.budget = ask->budget;
	snprintf(w.e.id, sizeof(w.e.id), "%016llx%016llx", (unsigned long long)kl_rng_os_seed(),
		 (unsigned long long)kl_rng_os_seed());
	if ((err = write_entry(&w, fit_reservation, ask)) < 0)
		return err;
	memcpy(out->id, w.e.id, sizeof(out->id));
	out->nano = w.e.nano;
	out->tokens = ask->per_token ? (w.e.nano - ask->fixed) / ask->per_token : ask->tokens;
	return 0;
}

static int fit_settlement(struct writer *w, const struct kl_ledger_totals *now, const void *payload)
{
	enum kl_budget b = w->e.budget;

	w->e.after = *now;
	w->e.after.of[b].reserved -= w->e.released;
	w->e.after.of[b].settled += w->e.nano;
	if (w->e.after.of[b].reserved < 0 || w->e.after.of[b].settled > MAX_SUM)
		return kl_error(KL_EINVALID, "'%s' does not add up: 'git klineage fsck' says more",
				w->ref);
	return 0;
}

int kl_ledger_settle(struct kl_repo *repo, const char *workload, const struct kl_ledger_bill *bill,
		     const struct kl_ledger_also *also)
{
	KL_AUTO(writer_release) struct writer w = { .repo = repo,
						    .workload = workload,
						    .also = also };

	fill_entry(&w, bill->name, bill->phase, bill->model);
	w.e.settles = true;
	memcpy(w.e.id, bill->reservation->id, sizeof(w.e.id));
	w.e.budget = bill->budget;
	w.e.turn = bill->turn;
	w.e.nano = bill->nano;
	w.e.released = bill->reservation->nano;
	w.e.stated = bill->stated;
	if (bill->usage)
		w.e.usage = *bill->usage;
	return write_entry(&w, fit_settlement, NULL);
}
