/* SPDX-License-Identifier: Apache-2.0 */
/* bill_csv - reads a bill as comma-separated values, as the web pages of providers export it */
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "model/bill_parts.h"
#include "model/money.h"
#include "text/csv.h"

#define NO_COLUMN SIZE_MAX
#define MAX_TOKENS_OF_ROW INT64_C(1000000000000)

/* The forms, with the names of the columns that are read; NULL if the form has no such column. */
static const struct form {
	const char *name, *time, *model, *cost, *currency;
	/* the column `model` has items that include the model: see kl_bill_item_model() */
	bool itemized;
	bool whole_cents;  /* see struct kl_bill */
	bool has_no_costs; /* the form has token counts, but no amounts */
	bool has_tokens;
} forms[] = {
	{ .name = "plain", .time = "time", .model = "model", .cost = "cost", .has_tokens = true },
	{ .name = "openai-csv",
	  .time = "start_time_iso",
	  .model = "line_item",
	  .cost = "amount_value",
	  .currency = "amount_currency",
	  .itemized = true },
	{ .name = "anthropic-csv",
	  .time = "usage_date_utc",
	  .model = "model",
	  .cost = "cost_usd",
	  .whole_cents = true },
	{ .name = "openrouter-csv",
	  .time = "created_at",
	  .model = "model_permaslug",
	  .cost = "cost_total" },
	{ .name = "openrouter-days-csv", .time = "Date", .model = "Slug", .cost = "Usage" },
	{ .name = "anthropic-tokens",
	  .time = "usage_date_utc",
	  .model = "model_version",
	  .cost = "usage_output_tokens",
	  .has_no_costs = true },
	{ .name = "openai-tokens",
	  .time = "start_time_iso",
	  .model = "model",
	  .cost = "output_tokens",
	  .has_no_costs = true },
};

static const char *const token_columns[] = { "input", "output", "cache_read", "cache_write" };

struct columns {
	const struct form *form;
	size_t time, model, cost, currency;
	size_t token[KL_ARRAY_SIZE(token_columns)];
};

static size_t find_column(const struct kl_csv *csv, const char *name)
{
	for (size_t i = 0; name && i < csv->n; i++)
		if (!strcasecmp(kl_csv_field(csv, i), name))
			return i;
	return NO_COLUMN;
}

/* Recognize the form by the names in the heading. */
static int read_heading(struct columns *columns, const struct kl_csv *csv)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(forms); i++) {
		*columns = (struct columns){
			.form = &forms[i],
			.time = find_column(csv, forms[i].time),
			.model = find_column(csv, forms[i].model),
			.cost = find_column(csv, forms[i].cost),
			.currency = find_column(csv, forms[i].currency),
		};
		for (size_t k = 0; k < KL_ARRAY_SIZE(token_columns); k++)
			columns->token[k] = forms[i].has_tokens ?
						    find_column(csv, token_columns[k]) :
						    NO_COLUMN;
		if (columns->time == NO_COLUMN || columns->model == NO_COLUMN ||
		    columns->cost == NO_COLUMN ||
		    (forms[i].currency && columns->currency == NO_COLUMN))
			continue;
		if (!forms[i].has_no_costs)
			return 0;
		return kl_error_hint(kl_error(KL_EINVALID,
					      "%s: the file has token counts, but no costs",
					      csv->name),
				     "export the costs instead of the usage");
	}
	return kl_error_hint(kl_error(KL_EINVALID,
				      "%s:%lld: no known form of a bill has these columns",
				      csv->name, (long long)csv->line),
			     "columns that can always be read: "
			     "time,model,input,output,cache_read,cache_write,cost");
}

static int refuse_field(const struct kl_csv *csv, size_t column, const char *what)
{
	return kl_error(KL_EINVALID, "%s:%lld: %s '%.64s'", csv->name, (long long)csv->line, what,
			kl_csv_field(csv, column));
}

/* Read a token count. If the field is empty or there is no such column, set *known to false. */
static int read_count(int64_t *count, bool *known, const struct kl_csv *csv, size_t column)
{
	const char *text = kl_csv_field(csv, column);
	size_t n = strspn(text, "0123456789");

	*count = 0;
	if (!*text) {
		*known = false;
		return 0;
	}
	if (text[n] || n > 15 || (*count = strtoll(text, NULL, 10)) > MAX_TOKENS_OF_ROW)
		return refuse_field(csv, column, "invalid number of tokens");
	return 0;
}

static int read_tokens(struct kl_usage *usage, const struct kl_csv *csv,
		       const struct columns *columns)
{
	int64_t *to[] = { &usage->input, &usage->output, &usage->cache_read,
			  &usage->cache_write_5m };
	int err = 0;

	*usage = (struct kl_usage){ .known = columns->form->has_tokens };
	for (size_t i = 0; !err && usage->known && i < KL_ARRAY_SIZE(to); i++)
		err = read_count(to[i], &usage->known, csv, columns->token[i]);
	return err;
}

static int read_row(struct kl_bill_reader *reader, const struct kl_csv *csv,
		    const struct columns *columns)
{
	struct kl_bill_row row = { 0 };
	const char *cost = kl_csv_field(csv, columns->cost);
	const char *model = kl_csv_field(csv, columns->model);
	KL_AUTO(kl_freep) char *of_item = columns->form->itemized ? kl_bill_item_model(model) :
								    NULL;
	int err;

	row.model = of_item ? of_item : model;
	if (!kl_bill_day(row.day, kl_csv_field(csv, columns->time)))
		return refuse_field(csv, columns->time,
				    "expected a time in UTC, such as 2026-11-20T10:00:00Z, not");
	/* OpenAI writes days without a charge as rows without an amount */
	row.has_amount = *cost || !columns->form->currency;
	if (row.has_amount && !kl_money_read_amount(&row.nano, cost, 0))
		return refuse_field(csv, columns->cost, "invalid amount");
	if (row.has_amount && columns->form->currency &&
	    strcasecmp(kl_csv_field(csv, columns->currency), "usd"))
		return refuse_field(csv, columns->currency, "expected the currency usd, not");
	if ((err = read_tokens(&row.usage, csv, columns)) < 0)
		return err;
	if ((err = kl_bill_add(reader, &row)) < 0)
		return kl_error_in(err, "%s:%lld", csv->name, (long long)csv->line);
	return 0;
}

int kl_bill_parse_csv(struct kl_bill_reader *reader, const char *name, const char *text, size_t len)
{
	KL_AUTO(kl_csv_release) struct kl_csv csv;
	struct columns columns;
	int more;

	kl_csv_start(&csv, name, text, len);
	if ((more = kl_csv_next(&csv)) < 0)
		return more;
	if (!more)
		return kl_error(KL_EINVALID, "%s: the bill is empty", name);
	if ((more = read_heading(&columns, &csv)) < 0)
		return more;
	reader->bill.form = columns.form->name;
	reader->bill.whole_cents = columns.form->whole_cents;
	while ((more = kl_csv_next(&csv)) > 0)
		if ((more = read_row(reader, &csv, &columns)) < 0)
			return more;
	return more;
}
