/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/body.h"

#include <stdbool.h>
#include <string.h>

/* Bytes of the UTF-8 character at `s`, of which `len` are there; 0: it is none. */
static size_t utf8_at(const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t n = *p < 0x80 ? 1 :
		   *p < 0xc2 ? 0 :
		   *p < 0xe0 ? 2 :
		   *p < 0xf0 ? 3 :
		   *p < 0xf5 ? 4 :
			       0;

	if (n > len)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if (n == 3 && ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f)))
		return 0; /* too long a form; half a surrogate pair */
	if (n == 4 && ((*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f)))
		return 0;
	return n;
}

static void add_escaped(struct kl_buf *out, char c)
{
	switch (c) {
	case '"':
	case '\\':
		kl_buf_addch(out, '\\');
		kl_buf_addch(out, c);
		break;
	case '\n':
		kl_buf_adds(out, "\\n");
		break;
	case '\t':
		kl_buf_adds(out, "\\t");
		break;
	case '\r':
		kl_buf_adds(out, "\\r");
		break;
	default:
		kl_buf_addf(out, "\\u%04x", (unsigned)(unsigned char)c);
	}
}

void kl_body_string(struct kl_buf *out, const char *s)
{
	size_t len = strlen(s);

	kl_buf_addch(out, '"');
	while (len) {
		size_t n = utf8_at(s, len);

		if (n == 1 && ((unsigned char)*s < ' ' || *s == '"' || *s == '\\' || *s == 0x7f))
			add_escaped(out, *s);
		else if (n)
			kl_buf_add(out, s, n);
		else
			kl_buf_adds(out, "\xef\xbf\xbd");
		s += n ? n : 1;
		len -= n ? n : 1;
	}
	kl_buf_addch(out, '"');
}

void kl_body_member(struct kl_buf *out, const char *key, const char *value)
{
	kl_body_string(out, key);
	kl_buf_addch(out, ':');
	kl_body_string(out, value);
}

/* U+0080 to U+009F move a terminal's cursor as well as the older controls do. */
static bool is_control(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;

	return n == 1 ? *p < ' ' || *p == 0x7f : n == 2 && *p == 0xc2 && p[1] < 0xa0;
}

void kl_body_quote(struct kl_buf *out, const char *s, size_t len, size_t max)
{
	size_t from = out->len;
	bool space = false;

	while (len) {
		size_t n = utf8_at(s, len);

		if (*s == ' ' || *s == '\n' || *s == '\t' || *s == '\r') {
			space = out->len > from;
		} else {
			if (out->len - from + n + space > max) {
				kl_buf_adds(out, "...");
				return;
			}
			if (space)
				kl_buf_addch(out, ' ');
			space = false;
			if (n && !is_control(s, n))
				kl_buf_add(out, s, n);
			else
				kl_buf_addch(out, '?');
		}
		s += n ? n : 1;
		len -= n ? n : 1;
	}
}
