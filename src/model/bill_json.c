/* SPDX-License-Identifier: Apache-2.0 */
/* bill_json - reads a bill as JSON, as the administration APIs of providers return it */
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/error.h"
#include "model/bill_parts.h"
#include "model/money.h"
#include "text/json.h"

#define PLACES 12 /* decimal places of an amount that jansson has read as a floating-point number */
#define LAST_SECOND INT64_C(253402300799) /* last second of the year 9999, as Unix time */

/*
 * Read an amount in units of 10^`unit` dollars, which is a JSON number or a string. A number is
 * converted to decimal text first; this is exact for amounts of up to 15 digits.
 */
static int read_amount(struct kl_bill_row *row, const json_t *value, int unit)
{
	KL_AUTO(kl_freep) char *number = NULL;
	const char *text = "";

	row->has_amount = true;
	if (json_is_integer(value))
		text = number = kl_asprintf("%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		text = number = kl_asprintf("%.*f", PLACES, json_real_value(value));
	else if (json_is_string(value) &&
		 strlen(json_string_value(value)) == json_string_length(value))
		text = json_string_value(value);
	if (kl_money_read_amount(&row->nano, text, unit))
		return 0;
	return kl_error(KL_EINVALID, "the amount is not a number, or too large");
}

static int check_currency(const json_t *obj)
{
	const char *currency = kl_json_str_or(obj, "currency", "");

	if (strcasecmp(currency, "usd"))
		return kl_error(KL_EINVALID, "expected the currency usd, not '%.64s'", currency);
	return 0;
}

static int read_day(struct kl_bill_row *row, const json_t *value)
{
	int64_t seconds = json_integer_value(value);
	time_t at = (time_t)seconds;
	struct tm tm;

	if (json_is_string(value) && kl_bill_day(row->day, json_string_value(value)))
		return 0;
	if (!json_is_integer(value) || seconds < 0 || seconds > LAST_SECOND || !gmtime_r(&at, &tm))
		return kl_error(KL_EINVALID, "the time is invalid or not in UTC");
	strftime(row->day, sizeof(row->day), "%Y-%m-%d", &tm);
	return 0;
}

/* --- OpenAI: GET /v1/organization/costs ------------------------------------------------ */

static int read_openai(struct kl_bill_reader *reader, struct kl_bill_row *row, const json_t *result)
{
	const json_t *amount = json_object_get(result, "amount");
	KL_AUTO(kl_freep) char *model = kl_bill_item_model(kl_json_str_or(result, "line_item", ""));
	int err;

	row->model = model;
	if ((err = check_currency(amount)) < 0 ||
	    (err = read_amount(row, json_object_get(amount, "value"), 0)) < 0)
		return err;
	return kl_bill_add(reader, row);
}

/* --- Anthropic: GET /v1/organizations/cost_report ---------------------------------------- */

static int read_anthropic(struct kl_bill_reader *reader, struct kl_bill_row *row,
			  const json_t *result)
{
	int err;

	row->model = kl_json_str_or(result, "model", "");
	if ((err = check_currency(result)) < 0 ||
	    (err = read_amount(row, json_object_get(result, "amount"), -2)) < 0)
		return err;
	return kl_bill_add(reader, row);
}

/* --- OpenRouter: GET /api/v1/activity ---------------------------------------------------- */

static int read_openrouter(struct kl_bill_reader *reader, struct kl_bill_row *row,
			   const json_t *result)
{
	int err;

	row->model = kl_json_str_or(result, "model", "");
	if ((err = read_amount(row, json_object_get(result, "usage"), 0)) < 0)
		return err;
	return kl_bill_add(reader, row);
}

/* --- the forms, each with a list `data` ------------------------------------------------- */

static const struct form {
	const char *name;
	const char *time; /* member of an element of `data` */
	/* member of an element that lists its charges; NULL if the element itself is one charge */
	const char *results;
	int (*read)(struct kl_bill_reader *reader, struct kl_bill_row *row, const json_t *result);
} forms[] = {
	{ "openai-json", "start_time", "results", read_openai },
	{ "anthropic-json", "starting_at", "results", read_anthropic },
	{ "openrouter-json", "date", NULL, read_openrouter },
};

static const struct form *find_form(const json_t *data)
{
	const json_t *first = json_array_get(data, 0);

	for (size_t i = 0; i < KL_ARRAY_SIZE(forms); i++)
		if (json_object_get(first, forms[i].time) &&
		    (!forms[i].results || json_object_get(first, forms[i].results)))
			return &forms[i];
	return NULL;
}

static int read_element(struct kl_bill_reader *reader, const struct form *form,
			const json_t *element)
{
	struct kl_bill_row row = { 0 };
	json_t *results;
	int err;

	if ((err = read_day(&row, json_object_get(element, form->time))) < 0)
		return err;
	if (!form->results)
		return form->read(reader, &row, element);
	if ((err = kl_json_arr(&results, element, form->results)) < 0)
		return err;
	if ((err = kl_bill_add(reader, &row)) < 0)
		return err;
	for (size_t i = 0; !err && i < json_array_size(results); i++)
		err = form->read(reader, &row, json_array_get(results, i));
	return err;
}

int kl_bill_parse_json(struct kl_bill_reader *reader, const char *name, const char *text,
		       size_t len)
{
	KL_AUTO(json_decrefp) json_t *value = NULL;
	const struct form *form;
	json_t *data;
	int err = kl_json_parse_lenient(&value, text, len);

	if (err < 0 || (err = kl_json_arr(&data, value, "data")) < 0)
		return kl_error_in(err, "%s", name);
	if (kl_json_bool_or(value, "has_more", false))
		return kl_error_hint(kl_error(KL_EINVALID,
					      "%s: the file is one page of a longer bill", name),
				     "export fewer days, or raise the limit of the page");
	if (!json_array_size(data))
		return kl_error(KL_EINVALID, "%s: the bill is empty", name);
	if (!(form = find_form(data)))
		return kl_error(KL_EINVALID, "%s: no known form of a bill has these members", name);
	reader->bill.form = form->name;
	for (size_t i = 0; i < json_array_size(data); i++)
		if ((err = read_element(reader, form, json_array_get(data, i))) < 0)
			return kl_error_in(err, "%s: element %zu of 'data'", name, i);
	return 0;
}
