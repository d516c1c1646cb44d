/* SPDX-License-Identifier: Apache-2.0 */
#include "model/bill.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/fs.h"
#include "model/bill_parts.h"
#include "model/money.h"
#include "model/price.h"
#include "model/provider/usage.h"

#define MAX_FILE ((size_t)64 << 20)
#define MAX_LINES 100000
#define MAX_MODEL 256

void kl_bill_release(struct kl_bill *bill)
{
	for (size_t i = 0; i < bill->n; i++)
		free(bill->line[i].model);
	free(bill->line);
	*bill = (struct kl_bill){ 0 };
}

/* --- models -------------------------------------------------------------------------- */

char *kl_bill_model(const char *name)
{
	const char *slash = strrchr(name, '/');
	char *model = kl_strdup(slash ? slash + 1 : name);

	for (char *ch = model; *ch; ch++)
		*ch = strchr(" ._", *ch) ? '-' : (char)tolower((unsigned char)*ch);
	for (char *ch = strchr(model, '-'); ch; ch = strchr(ch + 1, '-'))
		if (ch > model && kl_price_is_snapshot(ch)) {
			*ch = '\0';
			break;
		}
	return model;
}

char *kl_bill_item_model(const char *item)
{
	return kl_strndup(item, strcspn(item, ","));
}

/* --- days ---------------------------------------------------------------------------- */

/* Return true if `text` begins with `form`, in which '0' stands for any digit. */
static bool begins_as(const char *text, const char *form)
{
	for (; *form; form++, text++)
		if (*form == '0' ? !isdigit((unsigned char)*text) : *text != *form)
			return false;
	return true;
}

static bool is_utc(const char *zone)
{
	static const char *const utc[] = { "", "Z", "+00:00", "+0000", "+00", " UTC" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(utc); i++)
		if (!strcmp(zone, utc[i]))
			return true;
	return false;
}

static int two_digits(const char *text)
{
	return (text[0] - '0') * 10 + text[1] - '0';
}

/*
 * Return true if `text`, which follows the day, is empty or a time of day in UTC. The second can be
 * 60, for a leap second.
 */
static bool is_time_of_day(const char *text)
{
	if (!*text)
		return true;
	if ((*text != 'T' && *text != ' ') || !begins_as(text + 1, "00:00") ||
	    two_digits(text + 1) > 23 || two_digits(text + 4) > 59)
		return false;
	text += strlen("T00:00");
	if (begins_as(text, ":00")) {
		if (two_digits(text + 1) > 60)
			return false;
		text += strlen(":00");
	}
	if (begins_as(text, ".0"))
		text += 1 + strspn(text + 1, "0123456789");
	return is_utc(text);
}

bool kl_bill_day(char out[KL_BILL_DAY], const char *time)
{
	struct tm tm = { 0 };
	int month, day;

	if (!begins_as(time, "0000-00-00") || !is_time_of_day(time + strlen("0000-00-00")))
		return false;
	month = two_digits(time + 5);
	day = two_digits(time + 8);
	tm.tm_year = (int)strtol(time, NULL, 10) - 1900;
	tm.tm_mon = month - 1;
	tm.tm_mday = day;
	if (timegm(&tm) == (time_t)-1 || tm.tm_mon != month - 1 || tm.tm_mday != day)
		return false;
	memcpy(out, time, KL_BILL_DAY - 1);
	out[KL_BILL_DAY - 1] = '\0';
	return true;
}

/* --- lines --------------------------------------------------------------------------- */

static struct kl_bill_line *find_line(struct kl_bill_reader *reader, const char *day,
				      const char *model)
{
	KL_AUTO(kl_freep) char *key = kl_asprintf("%s %s", day, model);
	struct kl_bill *bill = &reader->bill;
	struct kl_bill_line *line;
	size_t at = (size_t)(uintptr_t)kl_map_get(&reader->at, key);

	if (at)
		return &bill->line[at - 1];
	KL_GROW(bill->line, bill->n + 1, reader->alloc);
	line = &bill->line[bill->n++];
	*line = (struct kl_bill_line){ .model = kl_strdup(model), .usage.known = true };
	memcpy(line->day, day, sizeof(line->day));
	kl_map_put(&reader->at, key, (void *)(uintptr_t)bill->n);
	return line;
}

static void cover_day(struct kl_bill *bill, const char *day)
{
	if (!*bill->first || strcmp(day, bill->first) < 0)
		memcpy(bill->first, day, sizeof(bill->first));
	if (strcmp(day, bill->last) > 0)
		memcpy(bill->last, day, sizeof(bill->last));
}

int kl_bill_add(struct kl_bill_reader *reader, const struct kl_bill_row *row)
{
	KL_AUTO(kl_freep) char *model = kl_bill_model(row->model ? row->model : "");
	struct kl_bill *bill = &reader->bill;
	struct kl_bill_line *line;

	cover_day(bill, row->day);
	if (!row->has_amount)
		return 0;
	if (strlen(model) > MAX_MODEL)
		return kl_error(KL_EINVALID, "the name of a model is longer than %d bytes",
				MAX_MODEL);
	line = find_line(reader, row->day, model);
	if (bill->n > MAX_LINES)
		return kl_error(KL_EINVALID, "the bill has more than %d pairs of a day and a model",
				MAX_LINES);
	bill->has_models |= *model != '\0';
	line->rows++;
	line->nano += row->nano;
	reader->gross += row->nano < 0 ? -row->nano : row->nano;
	if (reader->gross > KL_MONEY_MAX)
		return kl_error(KL_EINVALID, "the charges add up to more than $1000000");
	if (!row->usage.known)
		line->usage = (struct kl_usage){ 0 };
	else if (line->usage.known)
		kl_usage_add(&line->usage, &row->usage);
	return 0;
}

/* --- files --------------------------------------------------------------------------- */

static void reader_release(struct kl_bill_reader *reader)
{
	kl_bill_release(&reader->bill);
	kl_map_release(&reader->at);
}

int kl_bill_parse(struct kl_bill *out, const char *name, const char *text, size_t len)
{
	KL_AUTO(reader_release) struct kl_bill_reader reader = { 0 };
	size_t i = 0;
	int err;

	while (i < len && strchr("\xef\xbb\xbf \t\r\n", text[i]) && text[i])
		i++;
	err = i < len && text[i] == '{' ? kl_bill_parse_json(&reader, name, text + i, len - i) :
					  kl_bill_parse_csv(&reader, name, text, len);
	if (err < 0)
		return err;
	if (!*reader.bill.first)
		return kl_error(KL_EINVALID, "%s: the bill is empty", name);
	*out = reader.bill;
	reader.bill = (struct kl_bill){ 0 };
	return 0;
}

int kl_bill_load(struct kl_bill *out, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_read(&text, path, MAX_FILE);

	return err < 0 ? err : kl_bill_parse(out, path, text.ptr, text.len);
}
