/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The message and hints have a fixed size, so that a failed allocation can be reported. */
static _Thread_local char message[4096];
static _Thread_local char hints[2048];

static int set_error(int kind, const char *suffix, const char *fmt, va_list ap)
{
	char text[sizeof(message)];

	/* Format into `text` first, because the arguments can point into `message`. */
	vsnprintf(text, sizeof(text), fmt, ap);
	snprintf(message, sizeof(message), "%s%s%s", text, suffix ? ": " : "",
		 suffix ? suffix : "");
	hints[0] = '\0';
	return kind;
}

int kl_error(enum kl_err kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_error(kind, NULL, fmt, ap);
	va_end(ap);
	return kind;
}

int kl_error_errno(const char *fmt, ...)
{
	int err = errno;
	int kind = err == ENOENT ? KL_ENOTFOUND :
		   err == EEXIST ? KL_EEXISTS :
		   err == EINTR  ? KL_EINTR :
				   KL_EIO;
	va_list ap;

	va_start(ap, fmt);
	set_error(kind, strerror(err), fmt, ap);
	va_end(ap);
	return kind;
}

int kl_error_in(int err, const char *fmt, ...)
{
	char text[sizeof(message)];
	char whole[2 * sizeof(message)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(whole, sizeof(whole), "%s: %s", text, message);
	memcpy(message, whole, sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	return err;
}

int kl_error_reword(int err, const char *fmt, ...)
{
	char text[sizeof(message)]; /* the arguments can point into the current message */
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(message, text, sizeof(message));
	return err;
}

int kl_error_hint(int err, const char *fmt, ...)
{
	size_t at = strlen(hints);
	va_list ap;

	if (at && at + 1 < sizeof(hints))
		hints[at++] = '\n';
	va_start(ap, fmt);
	vsnprintf(hints + at, sizeof(hints) - at, fmt, ap);
	va_end(ap);
	return err;
}

const char *kl_error_last(void)
{
	return message[0] ? message : "no message";
}

const char *kl_error_hints(void)
{
	return hints;
}

void kl_error_clear(void)
{
	message[0] = '\0';
	hints[0] = '\0';
}

int kl_error_exit(int err)
{
	switch (err) {
	case 0:
		return 0;
	case KL_ENO:
		return 1;
	case KL_ECANNOT:
		return 125;
	case KL_EUSAGE:
		return 129;
	case KL_EINTR:
		return 130;
	default:
		return 128;
	}
}

void kl_bug(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "BUG: %s:%d: ", file, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}
