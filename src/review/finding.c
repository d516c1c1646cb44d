/* SPDX-License-Identifier: Apache-2.0 */
#include "review/finding.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define MAX_QUOTE 200 /* maximum size of a quoted text, in bytes */
#define OPEN '\001'
#define CLOSE '\002'

void kl_findings_release(struct kl_findings *findings)
{
	for (size_t i = 0; i < findings->n; i++)
		free(findings->v[i].text);
	free(findings->v);
	*findings = (struct kl_findings){ 0 };
}

/* --- making texts ------------------------------------------------------------- */

/*
 * Return true for characters that can disguise a text: C1 controls, invisible characters and
 * direction marks (U+0080-9F, U+00AD, U+200B-F, U+2028-E, U+2060-F, U+FEFF).
 */
static bool is_trick(const unsigned char *bytes, size_t n)
{
	if (n == 2)
		/* C1 controls, soft hyphen */
		return bytes[0] == 0xc2 && (bytes[1] < 0xa0 || bytes[1] == 0xad);
	if (n != 3 || (bytes[0] != 0xe2 && bytes[0] != 0xef))
		return false;
	if (bytes[0] == 0xef)
		return bytes[1] == 0xbb && bytes[2] == 0xbf;
	return (bytes[1] == 0x80 && ((bytes[2] >= 0x8b && bytes[2] <= 0x8f) ||
				     (bytes[2] >= 0xa8 && bytes[2] <= 0xae))) ||
	       (bytes[1] == 0x81 && bytes[2] >= 0xa0 && bytes[2] <= 0xaf);
}

/*
 * Append a text as one line of at most `max` bytes, then "..." if it has more. Each run of white
 * space and control characters becomes one blank, invalid bytes and DEL become "?", and the
 * characters of is_trick() are dropped.
 */
static void add_clean(struct kl_buf *out, const char *text, size_t max)
{
	size_t len = strlen(text), from = out->len;

	for (size_t i = 0; i < len;) {
		size_t n = kl_utf8_char(text + i, len - i);

		if (out->len - from + (n ? n : 1) > max) {
			kl_buf_adds(out, "...");
			return;
		}
		if (!n)
			kl_buf_addch(out, '?');
		else if (n == 1 && (unsigned char)text[i] <= ' ') {
			if (out->len > from && out->ptr[out->len - 1] != ' ')
				kl_buf_addch(out, ' ');
		} else if (n == 1 && text[i] == 0x7f)
			kl_buf_addch(out, '?');
		else if (!is_trick((const unsigned char *)text + i, n))
			kl_buf_add(out, text + i, n);
		i += n ? n : 1;
	}
}

static void add_ratio(struct kl_buf *out, int64_t ppm)
{
	char digits[32];
	size_t n = (size_t)snprintf(digits, sizeof(digits), "%.3f", (double)ppm / 1e6);

	while (n > 1 && digits[n - 1] == '0')
		n--;
	if (digits[n - 1] == '.')
		n--;
	kl_buf_add(out, digits, n);
}

void kl_vsay(struct kl_buf *out, const char *fmt, va_list ap)
{
	for (const char *at = fmt; *at; at++) {
		const char *text;

		if (*at != '%') {
			kl_buf_addch(out, *at);
			continue;
		}
		switch (*++at) {
		case 's':
			text = va_arg(ap, const char *);
			kl_buf_addch(out, OPEN);
			add_clean(out, text ? text : "", MAX_QUOTE);
			kl_buf_addch(out, CLOSE);
			break;
		case 'w':
			text = va_arg(ap, const char *);
			add_clean(out, text ? text : "", 4 * MAX_QUOTE);
			break;
		case 'd':
			kl_buf_addf(out, "%lld", (long long)va_arg(ap, int64_t));
			break;
		case 'r':
			add_ratio(out, va_arg(ap, int64_t));
			break;
		case '%':
			kl_buf_addch(out, '%');
			break;
		default:
			abort(); /* a bug in the caller: all formats are our own */
		}
	}
}

void kl_finding_addf(struct kl_buf *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	kl_vsay(out, fmt, ap);
	va_end(ap);
}

void kl_findings_add(struct kl_findings *findings, enum kl_weight weight, const char *code,
		     const char *fmt, ...)
{
	struct kl_buf text = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_vsay(&text, fmt, ap);
	va_end(ap);
	KL_GROW(findings->v, findings->n + 1, findings->alloc);
	findings->v[findings->n++] = (struct kl_finding){ weight, code, kl_buf_detach(&text) };
	findings->answers += weight == KL_ANSWER;
}

/* --- output ----------------------------------------------------------------------- */

void kl_finding_plain(struct kl_buf *out, const char *text)
{
	for (; *text; text++)
		kl_buf_addch(out, *text == OPEN || *text == CLOSE ? '\'' : *text);
}

/*
 * Append a code span. Its fence is longer than any run of backticks in the text. If the text begins
 * or ends with a backtick, a blank separates the text from the fence.
 */
static void add_span(struct kl_buf *out, const char *text, size_t n)
{
	size_t run = 0, longest = 0;
	bool pad;

	for (size_t i = 0; i < n; i++) {
		run = text[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	pad = !n || text[0] == '`' || text[n - 1] == '`' || (text[0] == ' ' && text[n - 1] == ' ');
	for (size_t i = 0; i <= longest; i++)
		kl_buf_addch(out, '`');
	if (pad)
		kl_buf_addch(out, ' ');
	kl_buf_add(out, text, n);
	if (pad)
		kl_buf_addch(out, ' ');
	for (size_t i = 0; i <= longest; i++)
		kl_buf_addch(out, '`');
}

void kl_finding_markdown(struct kl_buf *out, const char *text)
{
	while (*text) {
		if (*text == OPEN) {
			size_t n = strcspn(++text, "\002");

			add_span(out, text, n);
			text += n + (text[n] == CLOSE);
			continue;
		}
		if (strchr("\\`*_{}[]<>#!|@&~$", *text))
			kl_buf_addch(out, '\\');
		kl_buf_addch(out, *text++);
	}
}
