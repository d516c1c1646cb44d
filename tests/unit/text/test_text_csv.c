/* SPDX-License-Identifier: Apache-2.0 */
/* Comma-separated values: fields, rows, lines, and what is refused. */
#include "scratch.h"
#include "text/csv.h"

/* The rows as text: fields end with '|', rows with '/'. "!": an error. */
static char *rows_of(const char *text, size_t len)
{
	KL_AUTO(kl_csv_release) struct kl_csv csv;
	struct kl_buf out = KL_BUF_INIT;
	int more;

	kl_csv_start(&csv, "x.csv", text, len);
	while ((more = kl_csv_next(&csv)) > 0) {
		for (size_t i = 0; i < csv.n; i++)
			kl_buf_addf(&out, "%s|", kl_csv_field(&csv, i));
		assert_string_equal(kl_csv_field(&csv, csv.n), "");
		kl_buf_addch(&out, '/');
	}
	kl_buf_adds(&out, more < 0 ? "!" : "");
	return kl_buf_detach(&out);
}

static void rows_are_split(void **state)
{
	static const struct {
		const char *text, *rows;
	} cases[] = {
		{ "", "" },
		{ "\n\r\n\n", "" },
		{ "a", "a|/" },
		{ "a,b\nc,d\n", "a|b|/c|d|/" },
		{ "a,b\r\nc,\r\n", "a|b|/c||/" },
		{ ",\n", "||/" },
		{ "a\rb,c", "a\rb|c|/" },
		{ "\xef\xbb\xbfname,x\n", "name|x|/" },
		{ "\"a,b\",\"c\"\"d\"\n", "a,b|c\"d|/" },
		{ "\"two\nlines\",x\ny", "two\nlines|x|/y|/" },
		{ "\"\"\n", "|/" },
		{ "a\"b,c", "a\"b|c|/" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(cases); i++) {
		KL_AUTO(kl_freep) char *rows = rows_of(cases[i].text, strlen(cases[i].text));

		assert_string_equal(rows, cases[i].rows);
	}
}

static void assert_refused(const char *why, const char *text, size_t len)
{
	KL_AUTO(kl_freep) char *rows = rows_of(text, len);

	assert_int_equal(rows[strlen(rows) - 1], '!');
	assert_contains(kl_error_last(), why);
}

static void malformed_rows_are_refused(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf many = KL_BUF_INIT, wide = KL_BUF_INIT;

	assert_refused("x.csv:2: unterminated quoted field", "a\n\"b", 4);
	assert_refused("unterminated", "\"", 1);
	assert_refused("unterminated", "\"a\"\"", 4);
	assert_refused("x.csv:4: a quoted field is followed", "a\n\"b\nc\"\n\"d\"e\n", 13);
	assert_refused("x.csv:1: a field has a NUL byte", "a\0b", 3);
	for (int i = 0; i < KL_CSV_FIELDS; i++)
		kl_buf_addch(&many, ',');
	assert_refused("too many fields", many.ptr, many.len);
	for (size_t i = 0; i <= KL_CSV_ROW; i++)
		kl_buf_addch(&wide, 'x');
	assert_refused("the row is too long", wide.ptr, wide.len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_split),
		cmocka_unit_test(malformed_rows_are_refused),
	};

	return cmocka_run_group_tests_name("text/csv", tests, NULL, NULL);
}
