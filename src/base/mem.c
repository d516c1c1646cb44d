/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE ((size_t)4 << 20)
#define HUGE_PAGE ((uintptr_t)2 << 20)

static void *or_die(void *data)
{
	if (!data) {
		static const char text[] = "git-klineage: out of memory\n";
		ssize_t n = write(STDERR_FILENO, text, sizeof(text) - 1);

		_exit(n < 0 ? 128 : 125);
	}
	return data;
}

/*
 * Ask the kernel for huge pages for a large block, so that the block causes far fewer page faults.
 * Errors are ignored.
 */
static void *advise_huge(void *data, size_t size)
{
	uintptr_t from = ((uintptr_t)data + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	uintptr_t to = ((uintptr_t)data + size) / HUGE_PAGE * HUGE_PAGE;
	int before = errno;

	if (size >= LARGE && from < to)
		madvise((void *)from, to - from, MADV_HUGEPAGE);
	errno = before;
	return data;
}

void *kl_malloc(size_t size)
{
	return advise_huge(or_die(malloc(size ? size : 1)), size);
}

void *kl_calloc(size_t n, size_t size)
{
	return advise_huge(or_die(calloc(n ? n : 1, size ? size : 1)), n * size);
}

void *kl_realloc(void *data, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return or_die(NULL);
	return or_die(realloc(data, bytes ? bytes : 1));
}

char *kl_strndup(const char *text, size_t n)
{
	char *copy;

	n = strnlen(text, n);
	copy = kl_malloc(n + 1);
	memcpy(copy, text, n);
	copy[n] = '\0';
	return copy;
}

char *kl_strdup(const char *text)
{
	return kl_strndup(text, strlen(text));
}

char *kl_asprintf(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	return or_die(len < 0 ? NULL : text);
}

void kl_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}
