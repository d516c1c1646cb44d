/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/listing.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/printable.h"
#include "cmd/cli/out.h"

void kl_listing_put(const json_t *document)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	kl_json_canonical(&buf, document);
	kl_listing_line(&buf);
}

/* Escape DEL here, because it is the only control character that JSON does not escape. */
void kl_listing_line(const struct kl_buf *json)
{
	for (const char *at = json->ptr; *at;) {
		size_t n = strcspn(at, "\x7f");

		fwrite(at, 1, n, stdout);
		at += n;
		if (*at && *at++)
			fputs("\\u007f", stdout);
	}
	putchar('\n');
}

int kl_listing_check(const struct kl_listing *listing, const char *synopsis)
{
	if (listing->json && (listing->porcelain || listing->nul))
		return kl_opt_usage(synopsis, "--json cannot be used with --porcelain or -z");
	return 0;
}

bool kl_listing_asked(const struct kl_listing *listing)
{
	return listing->json || listing->porcelain || listing->nul;
}

static const json_t *member_at(const json_t *row, const char *path)
{
	for (const char *dot; row && (dot = strchr(path, '.')); path = dot + 1) {
		KL_AUTO(kl_freep) char *key = kl_strndup(path, (size_t)(dot - path));

		row = json_object_get(row, key);
	}
	return json_object_get(row, path);
}

static void add_value(struct kl_buf *buf, const json_t *value)
{
	size_t i;
	json_t *one;

	if (json_is_string(value))
		kl_buf_add(buf, json_string_value(value), json_string_length(value));
	else if (json_is_integer(value))
		kl_buf_addf(buf, "%lld", (long long)json_integer_value(value));
	else if (json_is_boolean(value))
		kl_buf_adds(buf, json_is_true(value) ? "true" : "false");
	json_array_foreach(value, i, one) {
		kl_buf_adds(buf, i ? " " : "");
		add_value(buf, one);
	}
}

/* Print a field; if it must be quoted, quote it as git quotes paths. */
static void print_field(const struct kl_buf *field)
{
	static const char plain[] = "\a\b\t\n\v\f\r\"\\", letter[] = "abtnvfr\"\\";
	bool quote = field->len && field->ptr[0] == '"';

	if (!quote && kl_printable_span(field->ptr, field->len) == field->len &&
	    !strpbrk(field->ptr, "\t\n\\")) {
		fwrite(field->ptr, 1, field->len, stdout);
		return;
	}
	putchar('"');
	for (size_t i = 0; i < field->len;) {
		size_t n = kl_printable_span(field->ptr + i, field->len - i);
		size_t keep = strcspn(field->ptr + i, plain);
		const char *known;

		fwrite(field->ptr + i, 1, keep < n ? keep : n, stdout);
		i += keep < n ? keep : n;
		if (i == field->len)
			break;
		known = field->ptr[i] ? strchr(plain, field->ptr[i]) : NULL;
		if (known)
			printf("\\%c", letter[known - plain]);
		else
			printf("\\%03o", (unsigned char)field->ptr[i]);
		i++;
	}
	putchar('"');
}

static void write_row(const json_t *row, const char *const *fields)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; fields[i]; i++) {
		add_value(&buf, member_at(row, fields[i]));
		kl_buf_addch(&buf, '\0');
	}
	kl_out_exact(buf.ptr, buf.len);
}

static void print_row(const json_t *row, const char *const *fields, bool nul)
{
	if (nul) {
		write_row(row, fields);
		return;
	}
	for (size_t i = 0; fields[i]; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

		add_value(&buf, member_at(row, fields[i]));
		if (i)
			putchar('\t');
		print_field(&buf);
	}
	putchar('\n');
}

void kl_listing_print(const struct kl_listing *listing, const json_t *document, const char *list,
		      const char *const *fields)
{
	size_t i;
	json_t *row;

	if (listing->json) {
		kl_listing_put(document);
		return;
	}
	if (!list)
		print_row(document, fields, listing->nul);
	else
		json_array_foreach(json_object_get(document, list), i, row)
			print_row(row, fields, listing->nul);
}
