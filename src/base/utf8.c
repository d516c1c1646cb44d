/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

static bool is_tail(const char *text, size_t len, size_t i)
{
	return i < len && ((unsigned char)text[i] & 0xc0) == 0x80;
}

size_t kl_utf8_char(const char *text, size_t len)
{
	unsigned char ch = len ? (unsigned char)text[0] : 0, next;

	if (ch < 0x80)
		return ch ? 1 : 0;
	if (ch < 0xc2 || ch > 0xf4 || !is_tail(text, len, 1))
		return 0;
	if (ch < 0xe0)
		return 2;
	next = (unsigned char)text[1];
	if (!is_tail(text, len, 2) || (ch == 0xe0 && next < 0xa0) || (ch == 0xed && next > 0x9f))
		return 0;
	if (ch < 0xf0)
		return 3;
	if (!is_tail(text, len, 3) || (ch == 0xf0 && next < 0x90) || (ch == 0xf4 && next > 0x8f))
		return 0;
	return 4;
}

size_t kl_utf8_span(const char *text, size_t len)
{
	size_t i = 0, n;

	while (i < len && (n = kl_utf8_char(text + i, len - i)))
		i += n;
	return i;
}

void kl_utf8_clean(struct kl_buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = kl_utf8_char(text + i, len - i);
		unsigned char ch = (unsigned char)text[i];

		if (!n || ch == 0x7f || (ch < 0x20 && ch != '\t' && ch != '\n')) {
			if (ch != '\r')
				kl_buf_addch(out, '?');
			i++;
			continue;
		}
		kl_buf_add(out, text + i, n);
		i += n;
	}
}

size_t kl_utf8_cut(const char *text, size_t len, size_t max)
{
	if (len <= max)
		return len;
	while (max && ((unsigned char)text[max] & 0xc0) == 0x80)
		max--;
	return max;
}
