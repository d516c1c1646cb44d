/* SPDX-License-Identifier: Apache-2.0 */
#include "base/printable.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

/* Characters above U+007F that are replaced, in ascending order. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x80, 0x9f },       /* C1: U+009B begins a command like ESC [ */
	{ 0xad, 0xad },       /* soft hyphen */
	{ 0x34f, 0x34f },     /* grapheme joiner */
	{ 0x61c, 0x61c },     /* Arabic letter mark */
	{ 0x115f, 0x1160 },   /* Hangul fillers */
	{ 0x17b4, 0x17b5 },   /* Khmer inherent vowels */
	{ 0x180b, 0x180f },   /* Mongolian selectors and separator */
	{ 0x200b, 0x200f },   /* zero width, left-to-right and right-to-left marks */
	{ 0x2028, 0x202e },   /* line and paragraph separators, embeddings, overrides */
	{ 0x2060, 0x206f },   /* invisible operators, isolates */
	{ 0x3164, 0x3164 },   /* Hangul filler */
	{ 0xfeff, 0xfeff },   /* byte order mark */
	{ 0xffa0, 0xffa0 },   /* Hangul filler of half width */
	{ 0xfff0, 0xfffb },   /* annotations */
	{ 0x1bca0, 0x1bca3 }, /* shorthand format controls */
	{ 0x1d173, 0x1d17a }, /* musical format controls */
	{ 0xe0000, 0xe0fff }, /* tags, variation selectors */
};

static bool is_hidden(uint32_t point)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(hidden) && hidden[i].first <= point; i++)
		if (point <= hidden[i].last)
			return true;
	return false;
}

/* Return the code point of a valid UTF-8 character of `n` bytes. */
static uint32_t decode_point(const char *text, size_t n)
{
	uint32_t point = (unsigned char)text[0];

	if (n > 1)
		point &= 0xffu >> (n + 1);
	for (size_t i = 1; i < n; i++)
		point = point << 6 | ((unsigned char)text[i] & 0x3f);
	return point;
}

/*
 * Return true if these bytes, which are not a valid character, can become one if more bytes follow.
 */
static bool is_begun(const char *text, size_t len)
{
	unsigned char lead = len ? (unsigned char)text[0] : 0;
	char whole[4] = "\x80\x80\x80\x80";

	if (!len || len > 3)
		return false;
	if (lead == 0xe0 || lead == 0xf0) /* a smaller second byte is invalid (overlong form) */
		whole[1] = '\xa0';
	memcpy(whole, text, len);
	return kl_utf8_char(whole, sizeof(whole)) > len;
}

static bool is_plain(unsigned char ch, bool lines)
{
	return (ch >= 0x20 && ch < 0x7f) || (lines && (ch == '\n' || ch == '\t'));
}

/* Return the number of bytes from the start of `text` that can be printed unchanged. */
static size_t safe_span(const char *text, size_t len, bool lines)
{
	size_t i = 0;

	while (i < len) {
		size_t n;

		if (is_plain((unsigned char)text[i], lines)) {
			i++;
			continue;
		}
		n = kl_utf8_char(text + i, len - i);
		if (n < 2 || is_hidden(decode_point(text + i, n)))
			break;
		i += n;
	}
	return i;
}

static size_t add_text(struct kl_buf *out, const char *text, size_t len, bool lines, bool ends)
{
	size_t i = 0;

	for (;;) {
		size_t n = safe_span(text + i, len - i, lines);

		kl_buf_add(out, text + i, n);
		i += n;
		if (i == len || (!ends && is_begun(text + i, len - i)))
			return i;
		n = kl_utf8_char(text + i, len - i);
		if (n > 1)
			kl_buf_addf(out, "<U+%04X>", decode_point(text + i, n));
		else
			kl_buf_addf(out, "\\x%02x", (unsigned char)text[i]);
		i += n ? n : 1;
	}
}

void kl_printable_add(struct kl_buf *out, const char *text, size_t len)
{
	add_text(out, text, len, true, true);
}

void kl_printable_line(struct kl_buf *out, const char *text, size_t len)
{
	add_text(out, text, len, false, true);
}

size_t kl_printable_part(struct kl_buf *out, const char *text, size_t len)
{
	return add_text(out, text, len, true, false);
}

size_t kl_printable_span(const char *text, size_t len)
{
	return safe_span(text, len, true);
}
