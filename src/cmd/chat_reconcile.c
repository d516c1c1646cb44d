/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/chat_reconcile.h"

#include <stdio.h>

#include "base/error.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/table.h"
#include "model/money.h"
#include "model/provider/usage.h"
#include "model/reconciliation.h"

/* --- as JSON ------------------------------------------------------------------------- */

static json_t *part_json(const struct kl_reconciled_part *part)
{
	json_t *value = json_object();

	kl_json_set_int(value, "requests", (int64_t)part->n);
	kl_json_set_int(value, "nano", part->nano);
	return value;
}

static json_t *line_json(const struct kl_reconciled *line)
{
	json_t *value = json_object();

	kl_json_set_str(value, "day", *line->day ? line->day : NULL);
	kl_json_set_str(value, "model", *line->model ? line->model : NULL);
	kl_json_set_int(value, "requests", (int64_t)line->requests);
	kl_json_set_int(value, "ledger", line->settled);
	kl_json_set_int(value, "bill", line->billed);
	kl_json_set_int(value, "difference", line->billed - line->settled);
	kl_json_set_bool(value, "equal", kl_reconciled_is_equal(line));
	kl_json_set_bool(value, "explained", kl_reconciled_is_explained(line));
	kl_json_set(value, "open", part_json(&line->open));
	kl_json_set(value, "estimated", part_json(&line->estimated));
	kl_json_set(value, "implausible", part_json(&line->implausible));
	kl_json_set(value, "uncounted", part_json(&line->uncounted));
	kl_json_set(value, "ledger_usage", kl_usage_json(&line->counted));
	kl_json_set(value, "bill_usage", kl_usage_json(&line->charged));
	return value;
}

static void print_json(const struct kl_bill *bill, const struct kl_reconciliation *reconciliation)
{
	KL_AUTO(json_decrefp) json_t *value = json_object();
	json_t *lines = json_array();

	for (size_t i = 0; i < reconciliation->n; i++)
		json_array_append_new(lines, line_json(&reconciliation->line[i]));
	kl_json_set_str(value, "schema", "klineage.reconcile/1");
	kl_json_set_str(value, "form", bill->form);
	kl_json_set_str(value, "first", bill->first);
	kl_json_set_str(value, "last", bill->last);
	kl_json_set_bool(value, "equal", kl_reconciliation_is_equal(reconciliation));
	kl_json_set_int(value, "workloads", (int64_t)reconciliation->workloads);
	kl_json_set(value, "lines", lines);
	kl_json_set(value, "total", line_json(&reconciliation->total));
	kl_json_set(value, "outside", part_json(&reconciliation->outside));
	kl_listing_put(value);
}

/* --- as text -------------------------------------------------------------------------- */

static void add_part(struct kl_buf *out, const struct kl_reconciled_part *part, const char *what)
{
	char money[KL_MONEY_TEXT];

	if (!part->n)
		return;
	kl_money_text(money, part->nano);
	kl_buf_addf(out, "%s%zu %s (%s)", out->len ? ", " : "", part->n, what, money);
}

/*
 * Append the token counts of ledger and bill. If the counts are equal, print only this, because
 * then the prices differ.
 */
static void add_tokens(struct kl_buf *out, const struct kl_reconciled *line)
{
	int64_t counted = kl_usage_prompt(&line->counted),
		charged = kl_usage_prompt(&line->charged);

	if (!line->requests || !line->counted.known || !line->charged.known)
		return;
	kl_buf_adds(out, out->len ? ", " : "");
	if (counted == charged && line->counted.output == line->charged.output)
		kl_buf_adds(out, "the token counts are equal");
	else
		kl_buf_addf(out, "%lld tokens in and %lld out, in the bill %lld and %lld",
			    (long long)counted, (long long)line->counted.output, (long long)charged,
			    (long long)line->charged.output);
}

/* Append possible reasons for the difference in a line; append nothing if the line has none. */
static void explain_line(struct kl_buf *out, const struct kl_reconciled *line)
{
	if (kl_reconciled_is_equal(line))
		return;
	add_part(out, &line->open, "open");
	add_part(out, &line->estimated, "estimated");
	add_part(out, &line->implausible, "implausible");
	add_part(out, &line->uncounted, "without counts");
	add_tokens(out, line);
	if (!line->requests)
		kl_buf_adds(out, "not in the ledger");
	else if (!kl_reconciled_is_explained(line))
		kl_buf_addf(out, "%snot explained", out->len ? ", " : "");
}

static void add_row(struct kl_table *table, const struct kl_reconciled *line)
{
	KL_AUTO(kl_freep) char *requests = kl_asprintf("%zu", line->requests);
	KL_AUTO(kl_buf_release) struct kl_buf why = KL_BUF_INIT;
	char settled[KL_MONEY_TEXT], billed[KL_MONEY_TEXT], difference[KL_MONEY_TEXT];

	kl_money_text(settled, line->settled);
	kl_money_text(billed, line->billed);
	kl_money_text(difference, line->billed - line->settled);
	explain_line(&why, line);
	kl_table_row(table, (const char *[]){ *line->day ? line->day : "total",
					      *line->model ? line->model : "-", requests, settled,
					      billed, difference, why.len ? why.ptr : "-" });
}

static void print_text(const struct kl_bill *bill, const struct kl_reconciliation *reconciliation)
{
	static const char *const head[] = { "day",  "model",      "requests",   "ledger",
					    "bill", "difference", "explanation" };
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = KL_ARRAY_SIZE(head) };
	char money[KL_MONEY_TEXT];

	printf("bill of %s to %s (%s), %zu ledger%s\n\n", bill->first, bill->last, bill->form,
	       reconciliation->workloads, reconciliation->workloads == 1 ? "" : "s");
	kl_table_row(&table, head);
	for (size_t i = 0; i < reconciliation->n; i++)
		add_row(&table, &reconciliation->line[i]);
	add_row(&table, &reconciliation->total);
	kl_table_print(&table);
	if (!reconciliation->outside.n)
		return;
	kl_money_text(money, reconciliation->outside.nano);
	printf("\nnot compared: %zu request%s (%s) on days that the bill does not cover\n",
	       reconciliation->outside.n, reconciliation->outside.n == 1 ? "" : "s", money);
}

static int report_difference(const struct kl_reconciliation *reconciliation)
{
	const struct kl_reconciled *total = &reconciliation->total;
	char money[KL_MONEY_TEXT];
	int err;

	if (kl_reconciliation_is_equal(reconciliation))
		return 0;
	kl_money_text(money, total->billed - total->settled);
	err = kl_error(
		KL_ENO,
		"the ledger and the bill differ by %s in total, and %zu of %zu lines are not "
		"equal",
		money, reconciliation->unequal, reconciliation->n);
	if (total->open.n)
		kl_error_hint(err, "'git klineage chat settle --cost <usd>' settles open "
				   "reservations at what was charged");
	if (total->estimated.n || total->implausible.n || total->uncounted.n)
		kl_error_hint(err, "'git klineage chat settle --correct <id> --cost <usd>' "
				   "corrects a settled amount");
	return err;
}

int kl_chat_reconcile_say(struct kl_repo *repo, const char *path,
			  const struct kl_reconciliation_opts *opts, bool json)
{
	KL_AUTO(kl_bill_release) struct kl_bill bill = { 0 };
	KL_AUTO(kl_reconciliation_release) struct kl_reconciliation reconciliation = { 0 };
	int err;

	if ((err = kl_bill_load(&bill, path)) < 0 ||
	    (err = kl_reconciliation_make(&reconciliation, repo, &bill, opts)) < 0)
		return err;
	if (json)
		print_json(&bill, &reconciliation);
	else
		print_text(&bill, &reconciliation);
	return report_difference(&reconciliation);
}
