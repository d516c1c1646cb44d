/* SPDX-License-Identifier: Apache-2.0 */
#include "review/finding.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "text/utf8.h"

#define MAX_QUOTE 200 /* bytes of what is quoted */
#define OPEN '\001'
#define CLOSE '\002'

void kl_findings_release(struct kl_findings *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i].text);
	free(f->v);
	*f = (struct kl_findings){ 0 };
}

/* --- making texts ------------------------------------------------------------- */

/* Turns the direction of writing, or is not to be seen: U+200B..F, U+2028..E, U+2060..F, U+FEFF. */
static bool is_trick(const unsigned char *s, size_t n)
{
	if (n == 2)
		return s[0] == 0xc2 && (s[1] < 0xa0 || s[1] == 0xad); /* C1, soft hyphen */
	if (n != 3 || (s[0] != 0xe2 && s[0] != 0xef))
		return false;
	if (s[0] == 0xef)
		return s[1] == 0xbb && s[2] == 0xbf;
	return (s[1] == 0x80 &&
		((s[2] >= 0x8b && s[2] <= 0x8f) || (s[2] >= 0xa8 && s[2] <= 0xae))) ||
	       (s[1] == 0x81 && s[2] >= 0xa0 && s[2] <= 0xaf);
}

/* One line of plain characters; white space is one blank. */
static void add_clean(struct kl_buf *out, const char *s, size_t max)
{
	size_t len = strlen(s), from = out->len;

	for (size_t i = 0; i < len;) {
		size_t n = kl_utf8_char(s + i, len - i);

		if (out->len - from + (n ? n : 1) > max) {
			kl_buf_adds(out, "...");
			return;
		}
		if (!n)
			kl_buf_addch(out, '?');
		else if (n == 1 && (unsigned char)s[i] <= ' ') {
			if (out->len > from && out->ptr[out->len - 1] != ' ')
				kl_buf_addch(out, ' ');
		} else if (n == 1 && s[i] == 0x7f)
			kl_buf_addch(out, '?');
		else if (!is_trick((const unsigned char *)s + i, n))
			kl_buf_add(out, s + i, n);
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
	for (const char *p = fmt; *p; p++) {
		const char *s;

		if (*p != '%') {
			kl_buf_addch(out, *p);
			continue;
		}
		switch (*++p) {
		case 's':
			s = va_arg(ap, const char *);
			kl_buf_addch(out, OPEN);
			add_clean(out, s ? s : "", MAX_QUOTE);
			kl_buf_addch(out, CLOSE);
			break;
		case 'w':
			s = va_arg(ap, const char *);
			add_clean(out, s ? s : "", 4 * MAX_QUOTE);
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
			abort(); /* a format of ours */
		}
	}
}

void kl_say(struct kl_buf *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	kl_vsay(out, fmt, ap);
	va_end(ap);
}

void kl_findings_add(struct kl_findings *f, enum kl_weight weight, const char *code,
		     const char *fmt, ...)
{
	struct kl_buf text = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_vsay(&text, fmt, ap);
	va_end(ap);
	KL_GROW(f->v, f->n + 1, f->alloc);
	f->v[f->n++] = (struct kl_finding){ weight, code, kl_buf_detach(&text) };
	f->answers += weight == KL_ANSWER;
}

/* --- showing them ----------------------------------------------------------------- */

void kl_say_plain(struct kl_buf *out, const char *text)
{
	for (; *text; text++)
		kl_buf_addch(out, *text == OPEN || *text == CLOSE ? '\'' : *text);
}

/* A fence longer than any run of backticks inside, and no backtick beside it. */
static void add_span(struct kl_buf *out, const char *s, size_t n)
{
	size_t run = 0, longest = 0;
	bool pad;

	for (size_t i = 0; i < n; i++) {
		run = s[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	pad = !n || s[0] == '`' || s[n - 1] == '`' || (s[0] == ' ' && s[n - 1] == ' ');
	for (size_t i = 0; i <= longest; i++)
		kl_buf_addch(out, '`');
	if (pad)
		kl_buf_addch(out, ' ');
	kl_buf_add(out, s, n);
	if (pad)
		kl_buf_addch(out, ' ');
	for (size_t i = 0; i <= longest; i++)
		kl_buf_addch(out, '`');
}

void kl_say_markdown(struct kl_buf *out, const char *text)
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
