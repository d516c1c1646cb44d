/* SPDX-License-Identifier: Apache-2.0 */
#include "text/csv.h"

#include <string.h>

#include "base/error.h"

static const char byte_order_mark[] = "\xef\xbb\xbf";

void kl_csv_start(struct kl_csv *out, const char *name, const char *text, size_t len)
{
	size_t mark = sizeof(byte_order_mark) - 1;

	*out = (struct kl_csv){
		.name = name, .at = text, .end = text + len, .next_line = 1, .text = KL_BUF_INIT
	};
	if (len >= mark && !memcmp(text, byte_order_mark, mark))
		out->at += mark;
}

void kl_csv_release(struct kl_csv *csv)
{
	kl_buf_release(&csv->text);
}

const char *kl_csv_field(const struct kl_csv *csv, size_t i)
{
	return i < csv->n ? csv->text.ptr + csv->field[i] : "";
}

static int refuse_row(const struct kl_csv *csv, const char *why)
{
	return kl_error(KL_EINVALID, "%s:%lld: %s", csv->name, (long long)csv->line, why);
}

static bool is_line_end(const struct kl_csv *csv)
{
	return csv->at == csv->end || *csv->at == '\n' ||
	       (*csv->at == '\r' && csv->at + 1 < csv->end && csv->at[1] == '\n');
}

static int add_byte(struct kl_csv *csv)
{
	if (!*csv->at)
		return refuse_row(csv, "a field has a NUL byte");
	if (csv->text.len >= KL_CSV_ROW)
		return refuse_row(csv, "the row is too long");
	csv->next_line += *csv->at == '\n';
	kl_buf_addch(&csv->text, *csv->at++);
	return 0;
}

/* Read a quoted field, from its opening quote to its closing quote. */
static int read_quoted(struct kl_csv *csv)
{
	bool closed = false;
	int err = 0;

	csv->at++;
	while (!err && !closed && csv->at < csv->end) {
		if (*csv->at != '"') {
			err = add_byte(csv);
			continue;
		}
		csv->at++;
		if (csv->at < csv->end && *csv->at == '"')
			err = add_byte(csv);
		else
			closed = true;
	}
	if (!err && !closed)
		err = refuse_row(csv, "unterminated quoted field");
	if (!err && !is_line_end(csv) && *csv->at != ',')
		err = refuse_row(csv, "a quoted field is followed by other text");
	return err;
}

static int read_field(struct kl_csv *csv)
{
	int err = 0;

	if (csv->n == KL_CSV_FIELDS)
		return refuse_row(csv, "the row has too many fields");
	csv->field[csv->n++] = csv->text.len;
	if (csv->at < csv->end && *csv->at == '"')
		err = read_quoted(csv);
	else
		while (!err && !is_line_end(csv) && *csv->at != ',')
			err = add_byte(csv);
	kl_buf_addch(&csv->text, '\0');
	return err;
}

static void skip_line_end(struct kl_csv *csv)
{
	if (csv->at < csv->end && *csv->at == '\r')
		csv->at++;
	if (csv->at < csv->end)
		csv->at++;
	csv->next_line++;
}

int kl_csv_next(struct kl_csv *csv)
{
	int err;

	while (csv->at < csv->end && is_line_end(csv))
		skip_line_end(csv);
	csv->n = 0;
	csv->line = csv->next_line;
	kl_buf_clear(&csv->text);
	if (csv->at == csv->end)
		return 0;
	while (!(err = read_field(csv)) && !is_line_end(csv))
		csv->at++;
	if (err < 0)
		return err;
	skip_line_end(csv);
	return 1;
}
