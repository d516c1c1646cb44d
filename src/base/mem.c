/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *checked(void *p)
{
	if (!p) {
		static const char text[] = "git-klineage: out of memory\n";

		if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
			_exit(128);
		abort();
	}
	return p;
}

void *kl_malloc(size_t size)
{
	return checked(malloc(size ? size : 1));
}

void *kl_calloc(size_t n, size_t size)
{
	return checked(calloc(n ? n : 1, size ? size : 1));
}

void *kl_realloc(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return checked(NULL);
	return checked(realloc(p, bytes ? bytes : 1));
}

char *kl_strndup(const char *s, size_t n)
{
	char *p;

	n = strnlen(s, n);
	p = kl_malloc(n + 1);
	memcpy(p, s, n);
	p[n] = '\0';
	return p;
}

char *kl_strdup(const char *s)
{
	return kl_strndup(s, strlen(s));
}

char *kl_asprintf(const char *fmt, ...)
{
	char *p = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&p, fmt, ap);
	va_end(ap);
	return checked(n < 0 ? NULL : p);
}

void kl_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}
