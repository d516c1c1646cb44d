/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

char kl_buf_empty[1];

void kl_buf_release(struct kl_buf *b)
{
	if (b->alloc)
		free(b->ptr);
	*b = (struct kl_buf)KL_BUF_INIT;
}

void kl_buf_clear(struct kl_buf *b)
{
	b->len = 0;
	if (b->alloc)
		b->ptr[0] = '\0';
}

char *kl_buf_detach(struct kl_buf *b)
{
	char *s = b->alloc ? b->ptr : kl_strdup("");

	*b = (struct kl_buf)KL_BUF_INIT;
	return s;
}

void kl_buf_reserve(struct kl_buf *b, size_t n)
{
	size_t need;

	if (__builtin_add_overflow(b->len, n, &need) || ++need == 0)
		KL_BUG("buffer of absurd size");
	if (need <= b->alloc)
		return;
	if (!b->alloc)
		b->ptr = NULL;
	KL_GROW(b->ptr, need, b->alloc);
	b->ptr[b->len] = '\0';
}

void kl_buf_add(struct kl_buf *b, const void *data, size_t n)
{
	if (!n)
		return;
	kl_buf_reserve(b, n);
	memcpy(b->ptr + b->len, data, n);
	b->len += n;
	b->ptr[b->len] = '\0';
}

void kl_buf_adds(struct kl_buf *b, const char *s)
{
	kl_buf_add(b, s, strlen(s));
}

void kl_buf_addch(struct kl_buf *b, char c)
{
	kl_buf_add(b, &c, 1);
}

void kl_buf_vaddf(struct kl_buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	if (n < 0)
		KL_BUG("bad format '%s'", fmt);
	kl_buf_reserve(b, (size_t)n);
	vsnprintf(b->ptr + b->len, (size_t)n + 1, fmt, again);
	b->len += (size_t)n;
	va_end(again);
}

void kl_buf_addf(struct kl_buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(b, fmt, ap);
	va_end(ap);
}

void kl_buf_rtrim(struct kl_buf *b)
{
	while (b->len && isspace((unsigned char)b->ptr[b->len - 1]))
		b->ptr[--b->len] = '\0';
}

int kl_buf_read_fd(struct kl_buf *b, int fd, size_t max)
{
	size_t from = b->len;

	for (;;) {
		ssize_t n;

		kl_buf_reserve(b, 65536);
		n = read(fd, b->ptr + b->len, 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return kl_error_errno("cannot read");
		if (n == 0)
			return 0;
		b->len += (size_t)n;
		b->ptr[b->len] = '\0';
		if (b->len - from > max)
			return kl_error(KL_EINVALID, "more than %zu bytes", max);
	}
}
