/* SPDX-License-Identifier: Apache-2.0 */
#include "text/line_ends.h"

#include <string.h>

bool kl_line_ends_are_crlf(const char *text, size_t len)
{
	const char *newline = len ? memchr(text, '\n', len) : NULL;

	return newline && newline > text && newline[-1] == '\r';
}

char *kl_line_ends_to_lf(const char *text, size_t len)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < len; i++)
		if (text[i] != '\r' || i + 1 == len || text[i + 1] != '\n')
			kl_buf_addch(&buf, text[i]);
	return kl_buf_detach(&buf);
}

char *kl_line_ends_to_crlf(const char *text, size_t len)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n' && (!i || text[i - 1] != '\r'))
			kl_buf_addch(&buf, '\r');
		kl_buf_addch(&buf, text[i]);
	}
	return kl_buf_detach(&buf);
}
