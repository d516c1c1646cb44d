/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/chat_cost.h"

#include <math.h>
#include <string.h>

#include "cmd/cli/listing.h"
#include "cmd/cli/table.h"
#include "lineage/spend.h"
#include "model/ledger.h"
#include "model/money.h"
#include "model/provider/usage.h"
#include "repo/refs.h"

#define BAR_WIDTH 48
#define MAX_BARS 32

static void print_budget(const struct kl_spend *spend, enum kl_budget budget)
{
	char spent[KL_MONEY_TEXT], cap[KL_MONEY_TEXT], reserved[KL_MONEY_TEXT];

	kl_money_text(spent, spend->totals.of[budget].settled + spend->totals.of[budget].reserved);
	kl_money_text(reserved, spend->totals.of[budget].reserved);
	kl_money_text(cap, spend->cap[budget]);
	if (spend->is_purse) {
		if (budget == KL_BUDGET_INDUCE)
			return;
		printf("%s: %s for the search", spend->workload, spent);
	} else {
		printf("%s: %s of %s for %s", spend->workload, spent, cap,
		       budget == KL_BUDGET_INDUCE ? "walks" : "materializing");
	}
	if (spend->totals.of[budget].reserved)
		printf(", %s of it reserved but not settled", reserved);
	putchar('\n');
}

/* Print why money is held, and how to release the part that was not charged. */
static void print_open(const struct kl_spend *spend)
{
	size_t open = 0;

	for (size_t i = 0; i < spend->n; i++)
		open += spend->phase[i].open;
	if (!open)
		return;
	printf("%zu request%s in progress or interrupted, and may have been charged; look at the "
	       "provider's bill, then run\n  git klineage chat settle --cost <usd> %s\n",
	       open, open == 1 ? " is" : "s are", spend->workload);
}

static void cost_row(struct kl_table *table, const struct kl_spend_phase *phase)
{
	KL_AUTO(kl_freep) char *requests = kl_asprintf("%zu", phase->requests);
	KL_AUTO(kl_freep) char *input = kl_asprintf("%lld",
						    (long long)kl_usage_prompt(&phase->usage));
	KL_AUTO(kl_freep) char *cached = kl_asprintf("%lld", (long long)phase->usage.cache_read);
	KL_AUTO(kl_freep) char *output = kl_asprintf("%lld", (long long)phase->usage.output);
	char settled[KL_MONEY_TEXT], reserved[KL_MONEY_TEXT];

	kl_money_text(settled, phase->settled);
	kl_money_text(reserved, phase->reserved);
	kl_table_row(table, (const char *[]){ phase->name, phase->phase, requests,
					      phase->usage.known ? input : "-",
					      phase->usage.known ? cached : "-",
					      phase->usage.known ? output : "-", settled,
					      phase->reserved ? reserved : "-" });
}

/*
 * Return true for the first and last point, for each new best time, and for each `every`th point.
 */
static bool is_shown(const struct kl_spend *spend, size_t i, size_t every)
{
	if (!i || i + 1 == spend->npoint || spend->point[i].ns != spend->point[i - 1].ns)
		return true;
	return i % every == 0;
}

static void print_bars(const struct kl_spend *spend)
{
	size_t every = spend->npoint / MAX_BARS + 1;
	int64_t most = 0;

	for (size_t i = 0; i < spend->npoint; i++)
		if (spend->point[i].ns > most)
			most = spend->point[i].ns;
	if (!most)
		return;
	puts("\nbest time against money");
	for (size_t i = 0; i < spend->npoint; i++) {
		char money[KL_MONEY_TEXT], time[32];
		long n = lround(BAR_WIDTH * (double)spend->point[i].ns / (double)most);

		if (!is_shown(spend, i, every))
			continue;
		kl_money_text(money, spend->point[i].nano);
		kl_table_time(time, spend->point[i].ns);
		printf("%11s %12s |", money, time);
		while (n-- > 0)
			putchar('#');
		putchar('\n');
	}
}

/* Return the share of all prompt tokens that came from a cache, in millionths; -1 if unknown. */
static int64_t cached_ppm(const struct kl_usage *usage)
{
	int64_t prompt = kl_usage_prompt(usage);

	return usage->known && prompt ?
		       (int64_t)llround(1e6 * (double)usage->cache_read / (double)prompt) :
		       -1;
}

static void print_cached(const struct kl_spend *spend)
{
	struct kl_usage usage = kl_spend_usage(spend);
	int64_t ppm = cached_ppm(&usage);

	if (ppm >= 0)
		printf("%lld of %lld tokens in were read from a cache (%.1f %%)\n",
		       (long long)usage.cache_read, (long long)kl_usage_prompt(&usage),
		       (double)ppm / 1e4);
}

static void print_implausible(const struct kl_spend *spend)
{
	size_t n = 0;

	for (size_t i = 0; i < spend->n; i++)
		n += spend->phase[i].implausible;
	if (n)
		printf("%zu repl%s settled at the reserved amount, because the provider's token "
		       "counts cannot be right\n",
		       n, n == 1 ? "y was" : "ies were");
}

static void print_cost(const struct kl_spend *spend, bool bars)
{
	static const char *const head[] = { "name",   "phase", "requests", "tokens in",
					    "cached", "out",   "cost",     "reserved" };
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = KL_ARRAY_SIZE(head) };

	for (int budget = 0; budget < KL_BUDGETS; budget++)
		print_budget(spend, (enum kl_budget)budget);
	print_open(spend);
	if (!spend->n)
		return;
	putchar('\n');
	kl_table_row(&table, head);
	for (size_t i = 0; i < spend->n; i++)
		cost_row(&table, &spend->phase[i]);
	kl_table_print(&table);
	print_cached(spend);
	print_implausible(spend);
	if (bars)
		print_bars(spend);
}

static json_t *budgets_json(const struct kl_spend *spend)
{
	json_t *value = json_object();

	for (int budget = 0; budget < KL_BUDGETS; budget++) {
		json_t *one = json_object();

		/* the cap of a search was given as its --budget, which is not stored */
		kl_json_set(one, "cap",
			    spend->is_purse ? json_null() : json_integer(spend->cap[budget]));
		kl_json_set_int(one, "settled", spend->totals.of[budget].settled);
		kl_json_set_int(one, "reserved", spend->totals.of[budget].reserved);
		kl_json_set(value, kl_budget_name((enum kl_budget)budget), one);
	}
	return value;
}

static json_t *phase_json(const struct kl_spend_phase *phase)
{
	json_t *value = json_object();

	kl_json_set_str(value, "name", phase->name);
	kl_json_set_str(value, "phase", phase->phase);
	kl_json_set_str(value, "budget", kl_budget_name(phase->budget));
	kl_json_set_int(value, "requests", (int64_t)phase->requests);
	kl_json_set_int(value, "settled", phase->settled);
	kl_json_set_int(value, "reserved", phase->reserved);
	kl_json_set(value, "usage", kl_usage_json(&phase->usage));
	kl_json_set_int(value, "implausible", (int64_t)phase->implausible);
	return value;
}

static json_t *cost_json(const struct kl_spend *spend)
{
	json_t *value = json_object(), *phases = json_array(), *best = json_array();
	struct kl_usage usage = kl_spend_usage(spend);
	int64_t ppm = cached_ppm(&usage);

	kl_json_set_str(value, "workload", spend->workload);
	kl_json_set(value, "budgets", budgets_json(spend));
	kl_json_set(value, "usage", kl_usage_json(&usage));
	kl_json_set(value, "cached_ppm", ppm < 0 ? json_null() : json_integer(ppm));
	for (size_t i = 0; i < spend->n; i++)
		json_array_append_new(phases, phase_json(&spend->phase[i]));
	for (size_t i = 0; i < spend->npoint; i++) {
		json_t *point = json_object();

		kl_json_set_str(point, "time", spend->point[i].time);
		kl_json_set_int(point, "nano", spend->point[i].nano);
		kl_json_set(point, "ns",
			    spend->point[i].ns ? json_integer(spend->point[i].ns) : json_null());
		json_array_append_new(best, point);
	}
	kl_json_set(value, "phases", phases);
	kl_json_set(value, "best", best);
	return value;
}

static int list_accounts(struct kl_strvec *out, struct kl_repo *repo, const char *prefix,
			 const char *workload)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	KL_AUTO(kl_freep) char *below = kl_asprintf("%s%s%s", prefix, workload ? workload : "",
						    workload ? "/" : "");
	int err = kl_refs_list(&refs, repo, below);

	for (size_t i = 0; i < refs.n; i++)
		kl_strvec_push(out, refs.ref[i].name + strlen(prefix));
	return err;
}

/*
 * List the named workload and its searches, or all workloads that have a ledger, and all searches.
 */
static int list_workloads(struct kl_strvec *out, struct kl_repo *repo, const char *workload)
{
	int err = workload ? 0 : list_accounts(out, repo, KL_LEDGER_REFS, NULL);

	if (workload)
		kl_strvec_push(out, workload);
	return err < 0 ? err : list_accounts(out, repo, KL_PURSE_REFS, workload);
}

/* Append the rows of --porcelain: one per phase, each with its workload. */
static void add_phases(json_t *to, const struct kl_spend *spend)
{
	for (size_t i = 0; i < spend->n; i++) {
		json_t *object = phase_json(&spend->phase[i]);

		kl_json_set_str(object, "workload", spend->workload);
		json_array_append_new(to, object);
	}
}

int kl_chat_cost_print(struct kl_repo *repo, const char *workload, const struct kl_listing *out,
		       bool bars)
{
	static const char *const fields[] = { "workload",         "name",         "phase",
					      "budget",           "requests",     "usage.input",
					      "usage.cache_read", "usage.output", "settled",
					      "reserved",         "implausible",  NULL };
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	KL_AUTO(json_decrefp) json_t *value = json_object(), *list = json_array(),
				     *phases = json_array();
	int err;

	if ((err = list_workloads(&names, repo, workload)) < 0)
		return err;
	for (size_t i = 0; i < names.n; i++) {
		KL_AUTO(kl_spend_release) struct kl_spend spend = { 0 };

		if ((err = kl_spend_load(&spend, repo, names.v[i])) < 0)
			return err;
		if (kl_listing_asked(out)) {
			json_array_append_new(list, cost_json(&spend));
			add_phases(phases, &spend);
			continue;
		}
		if (i)
			putchar('\n');
		print_cost(&spend, bars);
	}
	kl_json_set_str(value, "schema", "klineage.cost/1");
	kl_json_set(value, "workloads", json_incref(list));
	if (!out->json)
		kl_json_set(value, "phases", json_incref(phases));
	if (kl_listing_asked(out))
		kl_listing_print(out, value, "phases", fields);
	else if (!names.n)
		fputs("no money was spent\n", stderr);
	return 0;
}
