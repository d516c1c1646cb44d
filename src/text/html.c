/* SPDX-License-Identifier: Apache-2.0 */
#include "text/html.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

/*
 * Check whether the bytes begin with a character that changes the text direction (U+202A-E,
 * U+2066-9).
 */
static bool turns_text(const unsigned char *bytes)
{
	return *bytes == 0xe2 && ((bytes[1] == 0x80 && bytes[2] >= 0xaa && bytes[2] <= 0xae) ||
				  (bytes[1] == 0x81 && bytes[2] >= 0xa6 && bytes[2] <= 0xa9));
}

/*
 * Return the length of the UTF-8 sequence at `bytes`, or 0 if it is malformed, overlong, a
 * surrogate or a character that XML forbids.
 */
static size_t utf8_sequence(const unsigned char *bytes, size_t n)
{
	size_t len = *bytes < 0x80                   ? 1 :
		     *bytes >= 0xc2 && *bytes < 0xe0 ? 2 :
		     *bytes >= 0xe0 && *bytes < 0xf0 ? 3 :
		     *bytes >= 0xf0 && *bytes < 0xf5 ? 4 :
						       0;

	if (!len || len > n)
		return 0;
	if (len == 1)
		return *bytes >= 0x20 && *bytes != 0x7f ?
			       1 :
			       *bytes == '\t' || *bytes == '\n' || *bytes == '\r';
	for (size_t i = 1; i < len; i++)
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
	if ((*bytes == 0xe0 && bytes[1] < 0xa0) || (*bytes == 0xed && bytes[1] >= 0xa0) ||
	    (*bytes == 0xf0 && bytes[1] < 0x90) || (*bytes == 0xf4 && bytes[1] >= 0x90) ||
	    (*bytes == 0xef && bytes[1] == 0xbf && bytes[2] >= 0xbe))
		return 0;
	return len;
}

void kl_html_addn(struct kl_buf *out, const char *text, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t len = utf8_sequence((const unsigned char *)text + i, n - i);

		if (!len || (len == 3 && turns_text((const unsigned char *)text + i)))
			kl_buf_adds(out, REPLACEMENT);
		else if (text[i] == '&')
			kl_buf_adds(out, "&amp;");
		else if (text[i] == '<')
			kl_buf_adds(out, "&lt;");
		else if (text[i] == '>')
			kl_buf_adds(out, "&gt;");
		else if (text[i] == '"')
			kl_buf_adds(out, "&quot;");
		else if (text[i] == '\'')
			kl_buf_adds(out, "&#39;");
		else
			kl_buf_add(out, text + i, len);
		i += len ? len : 1;
	}
}

void kl_html_add(struct kl_buf *out, const char *text)
{
	kl_html_addn(out, text, strlen(text));
}

void kl_html_addf(struct kl_buf *out, const char *fmt, ...)
{
	struct kl_buf buf = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&buf, fmt, ap);
	va_end(ap);
	kl_html_addn(out, buf.ptr, buf.len);
	kl_buf_release(&buf);
}
