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

void kl_buf_release(struct kl_buf *buf)
{
	if (buf->alloc)
		free(buf->ptr);
	*buf = (struct kl_buf)KL_BUF_INIT;
}

void kl_buf_clear(struct kl_buf *buf)
{
	buf->len = 0;
	if (buf->alloc)
		buf->ptr[0] = '\0';
}

char *kl_buf_detach(struct kl_buf *buf)
{
	char *text = buf->alloc ? buf->ptr : kl_strdup("");

	*buf = (struct kl_buf)KL_BUF_INIT;
	return text;
}

void kl_buf_reserve(struct kl_buf *buf, size_t n)
{
	size_t need;

	if (__builtin_add_overflow(buf->len, n, &need) || ++need == 0)
		KL_BUG("buffer size overflow");
	if (need <= buf->alloc)
		return;
	if (!buf->alloc)
		buf->ptr = NULL;
	KL_GROW(buf->ptr, need, buf->alloc);
	buf->ptr[buf->len] = '\0';
}

void kl_buf_add(struct kl_buf *buf, const void *data, size_t n)
{
	if (!n)
		return;
	kl_buf_reserve(buf, n);
	memcpy(buf->ptr + buf->len, data, n);
	buf->len += n;
	buf->ptr[buf->len] = '\0';
}

void kl_buf_adds(struct kl_buf *buf, const char *text)
{
	kl_buf_add(buf, text, strlen(text));
}

void kl_buf_addch(struct kl_buf *buf, char ch)
{
	kl_buf_add(buf, &ch, 1);
}

void kl_buf_vaddf(struct kl_buf *buf, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	if (n < 0)
		KL_BUG("bad format '%s'", fmt);
	kl_buf_reserve(buf, (size_t)n);
	vsnprintf(buf->ptr + buf->len, (size_t)n + 1, fmt, again);
	buf->len += (size_t)n;
	va_end(again);
}

void kl_buf_addf(struct kl_buf *buf, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(buf, fmt, ap);
	va_end(ap);
}

void kl_buf_rtrim(struct kl_buf *buf)
{
	while (buf->len && isspace((unsigned char)buf->ptr[buf->len - 1]))
		buf->ptr[--buf->len] = '\0';
}

int kl_buf_read_fd(struct kl_buf *buf, int fd, size_t max)
{
	size_t from = buf->len;

	for (;;) {
		ssize_t n;

		kl_buf_reserve(buf, 65536);
		n = read(fd, buf->ptr + buf->len, 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return kl_error_errno("cannot read the input");
		if (n == 0)
			return 0;
		buf->len += (size_t)n;
		buf->ptr[buf->len] = '\0';
		if (buf->len - from > max)
			return kl_error(KL_EINVALID, "the input has more than %zu bytes", max);
	}
}

void kl_buf_add_decimal(struct kl_buf *buf, int64_t millionths)
{
	uint64_t magnitude = millionths < 0 ? -(uint64_t)millionths : (uint64_t)millionths;

	kl_buf_addf(buf, "%s%llu.%06llu", millionths < 0 ? "-" : "",
		    (unsigned long long)(magnitude / 1000000),
		    (unsigned long long)(magnitude % 1000000));
	while (buf->ptr[buf->len - 1] == '0')
		buf->ptr[--buf->len] = '\0';
	if (buf->ptr[buf->len - 1] == '.')
		buf->ptr[--buf->len] = '\0';
}
