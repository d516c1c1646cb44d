/* SPDX-License-Identifier: Apache-2.0 */
#include "text/utf8.h"

static bool is_tail(const char *s, size_t len, size_t i)
{
	return i < len && ((unsigned char)s[i] & 0xc0) == 0x80;
}

size_t kl_utf8_char(const char *s, size_t len)
{
	unsigned char c = len ? (unsigned char)s[0] : 0, next;

	if (c < 0x80)
		return c ? 1 : 0;
	if (c < 0xc2 || c > 0xf4 || !is_tail(s, len, 1))
		return 0;
	if (c < 0xe0)
		return 2;
	next = (unsigned char)s[1];
	if (!is_tail(s, len, 2) || (c == 0xe0 && next < 0xa0) || (c == 0xed && next > 0x9f))
		return 0;
	if (c < 0xf0)
		return 3;
	if (!is_tail(s, len, 3) || (c == 0xf0 && next < 0x90) || (c == 0xf4 && next > 0x8f))
		return 0;
	return 4;
}

size_t kl_utf8_span(const char *s, size_t len)
{
	size_t i = 0, n;

	while (i < len && (n = kl_utf8_char(s + i, len - i)))
		i += n;
	return i;
}

void kl_utf8_clean(struct kl_buf *out, const char *s, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = kl_utf8_char(s + i, len - i);
		unsigned char c = (unsigned char)s[i];

		if (!n || c == 0x7f || (c < 0x20 && c != '\t' && c != '\n')) {
			if (c != '\r')
				kl_buf_addch(out, '?');
			i++;
			continue;
		}
		kl_buf_add(out, s + i, n);
		i += n;
	}
}

size_t kl_utf8_cut(const char *s, size_t len, size_t max)
{
	if (len <= max)
		return len;
	while (max && ((unsigned char)s[max] & 0xc0) == 0x80)
		max--;
	return max;
}
