/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/listing.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

void kl_listing_put(const json_t *document)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	kl_json_canonical(&buf, document);
	puts(buf.ptr);
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

/* Quote like git quotes a path, and only if needed. */
static void print_field(const struct kl_buf *field)
{
	static const char plain[] = "\a\b\t\n\v\f\r\"\\", letter[] = "abtnvfr\"\\";
	bool quote = field->len && field->ptr[0] == '"';

	for (size_t i = 0; i < field->len && !quote; i++)
		quote = (unsigned char)field->ptr[i] < 0x20 || field->ptr[i] == 0x7f ||
			field->ptr[i] == '\\';
	if (!quote) {
		fwrite(field->ptr, 1, field->len, stdout);
		return;
	}
	putchar('"');
	for (size_t i = 0; i < field->len; i++) {
		unsigned char ch = (unsigned char)field->ptr[i];
		const char *known = ch ? strchr(plain, ch) : NULL;

		if (known)
			printf("\\%c", letter[known - plain]);
		else if (ch < 0x20 || ch == 0x7f)
			printf("\\%03o", ch);
		else
			putchar(ch);
	}
	putchar('"');
}

static void print_row(const json_t *row, const char *const *fields, bool nul)
{
	for (size_t i = 0; fields[i]; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

		add_value(&buf, member_at(row, fields[i]));
		if (nul) {
			fwrite(buf.ptr, 1, buf.len, stdout);
			putchar('\0');
			continue;
		}
		if (i)
			putchar('\t');
		print_field(&buf);
	}
	if (!nul)
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
