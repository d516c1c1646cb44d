/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_BUF_H
#define KL_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/*
 * buf - a growing byte string, always NUL-terminated after its `len` bytes.
 *
 *	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
 *	kl_buf_addf(&b, "%d\n", n);
 *	return kl_buf_detach(&b);	the caller frees it
 */
struct kl_buf {
	char *ptr; /* never NULL: an empty buffer points at a shared "" */
	size_t len;
	size_t alloc; /* bytes allocated at `ptr`; 0 if `ptr` is the shared "" */
};

extern char kl_buf_empty[];
#define KL_BUF_INIT                 \
	{                           \
		.ptr = kl_buf_empty \
	}

void kl_buf_release(struct kl_buf *buf);
/** Empty the buffer, but keep its memory for reuse. */
void kl_buf_clear(struct kl_buf *buf);
/** Return the string, which the caller owns, and leave the buffer empty. */
char *kl_buf_detach(struct kl_buf *buf);

/** Allocate memory for `n` more bytes and the NUL. */
void kl_buf_reserve(struct kl_buf *buf, size_t n);
void kl_buf_add(struct kl_buf *buf, const void *data, size_t n);
void kl_buf_adds(struct kl_buf *buf, const char *text);
void kl_buf_addch(struct kl_buf *buf, char ch);
void kl_buf_addf(struct kl_buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Append `millionths` / 10^6 in decimal without trailing zeros: 2610000 gives "2.61". */
void kl_buf_add_decimal(struct kl_buf *buf, int64_t millionths);
void kl_buf_vaddf(struct kl_buf *buf, const char *fmt, va_list ap);
/** Remove trailing white space. */
void kl_buf_rtrim(struct kl_buf *buf);

/**
 * Append everything that can be read from `fd`. Return KL_EINVALID if there are more than `max`
 * bytes.
 */
int kl_buf_read_fd(struct kl_buf *buf, int fd, size_t max);

#endif
