/* SPDX-License-Identifier: Apache-2.0 */
#include "model/reconciliation.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/prefix.h"
#include "model/ledger.h"
#include "model/money.h"
#include "model/provider/usage.h"
#include "repo/refs.h"

#define CENT (KL_DOLLAR / 100)

void kl_reconciliation_release(struct kl_reconciliation *reconciliation)
{
	for (size_t i = 0; i < reconciliation->n; i++)
		free(reconciliation->line[i].model);
	free(reconciliation->line);
	free(reconciliation->total.model);
	*reconciliation = (struct kl_reconciliation){ 0 };
}

/*
 * --- equality ------------------------------------------------------------------------
 */

bool kl_reconciled_is_equal(const struct kl_reconciled *line)
{
	int64_t difference = line->billed - line->settled;

	return difference < line->tolerance && -difference < line->tolerance;
}

bool kl_reconciled_is_explained(const struct kl_reconciled *line)
{
	int64_t least = line->settled - line->estimated.nano - line->implausible.nano -
			line->uncounted.nano;
	int64_t most = line->settled + line->open.nano;

	return line->billed > least - line->tolerance && line->billed < most + line->tolerance;
}

bool kl_reconciliation_is_equal(const struct kl_reconciliation *reconciliation)
{
	return !reconciliation->unequal && kl_reconciled_is_equal(&reconciliation->total);
}

/*
 * --- requests of a ledger ---------------------------------------------------------------
 */

/* A request, as its latest entry in the ledger states it. */
struct charge {
	char day[KL_BILL_DAY];
	char *model;
	bool settled, stated, estimated, implausible;
	int64_t nano;
	struct kl_usage usage;
};

struct charges {
	struct charge *c;
	size_t n, alloc;
	struct kl_map at; /* id -> the number of its charge, from 1 */
};

static void charges_release(struct charges *charges)
{
	for (size_t i = 0; i < charges->n; i++)
		free(charges->c[i].model);
	free(charges->c);
	kl_map_release(&charges->at);
}

/* Add the charge of a request. Called for the first entry of the request. */
static int add_request(struct charges *charges, const struct kl_ledger_entry *entry)
{
	struct charge *charge;

	KL_GROW(charges->c, charges->n + 1, charges->alloc);
	charge = &charges->c[charges->n];
	*charge = (struct charge){ 0 };
	if (!kl_bill_day(charge->day, entry->time))
		return kl_error_hint(kl_error(KL_EINVALID,
					      "entry '%s' has the invalid time '%.64s'", entry->id,
					      entry->time),
				     "run 'git klineage fsck' for details");
	charge->model = kl_bill_model(entry->model);
	kl_map_put(&charges->at, entry->id, (void *)(uintptr_t)++charges->n);
	return 0;
}

static int collect_charges(struct charges *charges, const struct kl_ledger *ledger)
{
	for (size_t i = 0; i < ledger->n; i++) {
		const struct kl_ledger_entry *entry = &ledger->e[i];
		size_t at = (size_t)(uintptr_t)kl_map_get(&charges->at, entry->id);
		struct charge *charge;
		int err;

		if (!at && (err = add_request(charges, entry)) < 0)
			return err;
		charge = &charges->c[at ? at - 1 : charges->n - 1];
		charge->nano = entry->nano;
		charge->settled = entry->kind != KL_LEDGER_RESERVE;
		charge->stated = entry->stated;
		charge->estimated = entry->estimated;
		charge->implausible = entry->implausible;
		if (entry->kind == KL_LEDGER_SETTLE)
			charge->usage = entry->usage;
	}
	return 0;
}

/*
 * --- adding to lines -------------------------------------------------------------------
 */

struct comparison {
	struct kl_reconciliation *to;
	const struct kl_bill *bill;
	char *model;      /* prefix of the models to compare; NULL for all */
	size_t alloc;     /* allocated elements of to->line */
	struct kl_map at; /* "<day> <model>" -> the number of its line, from 1 */
};

static void comparison_release(struct comparison *comparison)
{
	free(comparison->model);
	kl_map_release(&comparison->at);
}

static struct kl_reconciled *find_line(struct comparison *comparison, const char *day,
				       const char *model)
{
	KL_AUTO(kl_freep) char *key = kl_asprintf("%s %s", day, model);
	size_t at = (size_t)(uintptr_t)kl_map_get(&comparison->at, key);
	struct kl_reconciliation *to = comparison->to;
	struct kl_reconciled *line;

	if (at)
		return &to->line[at - 1];
	KL_GROW(to->line, to->n + 1, comparison->alloc);
	line = &to->line[to->n++];
	*line = (struct kl_reconciled){ .model = kl_strdup(model),
					.counted.known = true,
					.charged.known = true,
					.tolerance = CENT };
	memcpy(line->day, day, sizeof(line->day));
	kl_map_put(&comparison->at, key, (void *)(uintptr_t)to->n);
	return line;
}

static bool is_compared(const struct comparison *comparison, const char *model)
{
	return !comparison->model || kl_prefix_has(model, comparison->model);
}

static void add_part(struct kl_reconciled_part *part, size_t n, int64_t nano)
{
	part->n += n;
	part->nano += nano;
}

/*
 * Add tokens to a sum. If the tokens of one request are unknown, the sum becomes unknown and stays
 * unknown.
 */
static void add_tokens(struct kl_usage *sum, const struct kl_usage *usage)
{
	if (!usage->known)
		*sum = (struct kl_usage){ 0 };
	else if (sum->known)
		kl_usage_add(sum, usage);
}

static void add_charge(struct comparison *comparison, const struct charge *charge)
{
	const struct kl_bill *bill = comparison->bill;
	struct kl_reconciled *line;

	if (!is_compared(comparison, charge->model))
		return;
	if (strcmp(charge->day, bill->first) < 0 || strcmp(charge->day, bill->last) > 0) {
		add_part(&comparison->to->outside, 1, charge->nano);
		return;
	}
	line = find_line(comparison, charge->day, bill->has_models ? charge->model : "");
	line->requests++;
	add_tokens(&line->counted, &charge->usage);
	if (!charge->settled) {
		add_part(&line->open, 1, charge->nano);
		return;
	}
	line->settled += charge->nano;
	if (charge->stated)
		return;
	if (charge->implausible)
		add_part(&line->implausible, 1, charge->nano);
	else if (charge->estimated)
		add_part(&line->estimated, 1, charge->nano);
	else if (!charge->usage.known && charge->nano)
		add_part(&line->uncounted, 1, charge->nano);
}

/* Add the charges of a ledger to `*sum`, and refuse a sum that could overflow. */
static int check_sum(int64_t *sum, const struct charges *charges)
{
	for (size_t i = 0; i < charges->n; i++)
		if (__builtin_add_overflow(*sum, charges->c[i].nano, sum) || *sum > INT64_MAX / 8)
			return kl_error(KL_EINVALID,
					"the amounts of all ledgers together are too large");
	return 0;
}

static int add_ledger(struct comparison *comparison, int64_t *sum, struct kl_repo *repo,
		      const char *account)
{
	KL_AUTO(kl_freep) char *ref = kl_ledger_account_ref(account);
	KL_AUTO(kl_ledger_release) struct kl_ledger ledger = { 0 };
	KL_AUTO(charges_release) struct charges charges = { 0 };
	int err;

	if ((err = kl_ledger_load(&ledger, repo, account)) < 0)
		return err;
	if (!ledger.n)
		return kl_error(KL_ENOTFOUND, "the workload '%s' has no ledger", account);
	if ((err = collect_charges(&charges, &ledger)) < 0)
		return kl_error_in(err, "%s", ref);
	if ((err = check_sum(sum, &charges)) < 0)
		return err;
	for (size_t i = 0; i < charges.n; i++)
		add_charge(comparison, &charges.c[i]);
	comparison->to->workloads += !strchr(account, '/');
	return 0;
}

/* add the ledgers whose refs begin with <prefix><below> */
static int add_accounts(struct comparison *comparison, int64_t *sum, struct kl_repo *repo,
			const char *prefix, const char *below)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	KL_AUTO(kl_freep) char *start = kl_asprintf("%s%s", prefix, below);
	int err = kl_refs_list(&refs, repo, start);

	for (size_t i = 0; !err && i < refs.n; i++)
		err = add_ledger(comparison, sum, repo, refs.ref[i].name + strlen(prefix));
	return err;
}

static int add_ledgers(struct comparison *comparison, struct kl_repo *repo, const char *workload)
{
	KL_AUTO(kl_freep) char *below = workload ? kl_asprintf("%s/", workload) : kl_strdup("");
	int64_t sum = 0;
	int err = workload ? add_ledger(comparison, &sum, repo, workload) :
			     add_accounts(comparison, &sum, repo, KL_LEDGER_REFS, "");

	/* the provider's bill includes the spending of searches */
	return err < 0 ? err : add_accounts(comparison, &sum, repo, KL_PURSE_REFS, below);
}

static void add_bill(struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->bill->n; i++) {
		const struct kl_bill_line *from = &comparison->bill->line[i];
		struct kl_reconciled *line;

		if (!is_compared(comparison, from->model))
			continue;
		line = find_line(comparison, from->day, from->model);
		line->billed += from->nano;
		add_tokens(&line->charged, &from->usage);
		/* each row can differ by half a cent */
		if (comparison->bill->whole_cents)
			line->tolerance += (int64_t)from->rows * (CENT / 2);
	}
}

/* --- the total ------------------------------------------------------------------------- */

static int by_day_and_model(const void *a, const void *b)
{
	const struct kl_reconciled *first = a, *second = b;
	int order = strcmp(first->day, second->day);

	return order ? order : strcmp(first->model, second->model);
}

static void add_to_total(struct kl_reconciled *total, const struct kl_reconciled *line)
{
	total->requests += line->requests;
	total->settled += line->settled;
	total->billed += line->billed;
	add_part(&total->open, line->open.n, line->open.nano);
	add_part(&total->estimated, line->estimated.n, line->estimated.nano);
	add_part(&total->implausible, line->implausible.n, line->implausible.nano);
	add_part(&total->uncounted, line->uncounted.n, line->uncounted.nano);
	add_tokens(&total->counted, &line->counted);
	add_tokens(&total->charged, &line->charged);
	total->tolerance += line->tolerance - CENT;
}

static void add_total(struct kl_reconciliation *to)
{
	to->total = (struct kl_reconciled){ .model = kl_strdup(""),
					    .counted.known = true,
					    .charged.known = true,
					    .tolerance = CENT };
	for (size_t i = 0; i < to->n; i++) {
		add_to_total(&to->total, &to->line[i]);
		to->unequal += !kl_reconciled_is_equal(&to->line[i]);
	}
	if (to->n)
		qsort(to->line, to->n, sizeof(*to->line), by_day_and_model);
}

int kl_reconciliation_make(struct kl_reconciliation *out, struct kl_repo *repo,
			   const struct kl_bill *bill, const struct kl_reconciliation_opts *opts)
{
	KL_AUTO(kl_reconciliation_release) struct kl_reconciliation made = { 0 };
	KL_AUTO(comparison_release) struct comparison comparison = {
		.to = &made,
		.bill = bill,
		.model = opts->model ? kl_bill_model(opts->model) : NULL,
	};
	int err;

	if (comparison.model && !*comparison.model)
		return kl_error(KL_EINVALID, "'%s' is not the beginning of a model's name",
				opts->model);
	if (comparison.model && !bill->has_models)
		return kl_error(KL_EINVALID, "the bill names no models to select from");
	if ((err = add_ledgers(&comparison, repo, opts->workload)) < 0)
		return err;
	add_bill(&comparison);
	add_total(&made);
	*out = made;
	made = (struct kl_reconciliation){ 0 };
	return 0;
}
