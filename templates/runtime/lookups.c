/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookups - records which files a compiler looks for. The gate loads it into gcc's programs (LD_PRELOAD) while they compile a
 * kernel, and reads the file that KL_LOOKUPS names afterwards (src/backend/c/lookups.h). No kernel is linked with it.
 *
 * A record is the first letter of the program (cc1, as), a letter for what it did (s: it started, d: it looked at a directory or
 * file, o: it opened a file), + or - for whether it was there, the path, and a NUL.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int record = -1;

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static void note(char what, const char *path, int there)
{
	char text[4200];
	int error = errno, n;

	if (record < 0)
		return;
	n = snprintf(text, sizeof(text), "%c%c%c%s", program_invocation_short_name[0], what,
		     there ? '+' : '-', path);
	if (n >= (int)sizeof(text))
		n = sizeof(text) - 1;
	/* what cannot be recorded must not stay unnoticed */
	if (write(record, text, n + 1) != n + 1)
		_exit(125);
	errno = error;
}

__attribute__((constructor)) static void start(void)
{
	int (*real)(const char *, int, ...) = next("open");
	const char *path = getenv("KL_LOOKUPS"), *name = program_invocation_short_name;
	int fd;

	if (!path || (strcmp(name, "cc1") && strcmp(name, "cc1plus") && strcmp(name, "as")))
		return;
	fd = real(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	record = fcntl(fd, F_DUPFD_CLOEXEC, 200);
	if (record < 0)
		_exit(125);
	close(fd);
	note('s', "", 1);
}

#define OPEN(name)                                                            \
	int name(const char *path, int flags, ...)                            \
	{                                                                     \
		int (*real)(const char *, int, ...) = next(#name);            \
		va_list args;                                                 \
		int mode, fd;                                                 \
                                                                              \
		va_start(args, flags);                                        \
		mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, int) : 0; \
		va_end(args);                                                 \
		fd = real(path, flags, mode);                                 \
		note('o', path, fd >= 0);                                     \
		return fd;                                                    \
	}
OPEN(open)
OPEN(open64)

#define FOPEN(name)                                                      \
	FILE *name(const char *path, const char *mode)                   \
	{                                                                \
		FILE *(*real)(const char *, const char *) = next(#name); \
		FILE *file = real(path, mode);                           \
                                                                         \
		note('o', path, file != NULL);                           \
		return file;                                             \
	}
FOPEN(fopen)
FOPEN(fopen64)

FILE *freopen(const char *path, const char *mode, FILE *stream)
{
	FILE *(*real)(const char *, const char *, FILE *) = next("freopen");
	FILE *file = real(path, mode, stream);

	note('o', path ? path : "", file != NULL);
	return file;
}

int openat(int dir, const char *path, int flags, ...)
{
	int (*real)(int, const char *, int, ...) = next("openat");
	va_list args;
	int mode, fd;

	va_start(args, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, int) : 0;
	va_end(args);
	fd = real(dir, path, flags, mode);
	note('o', path, fd >= 0);
	return fd;
}

int stat(const char *path, struct stat *out)
{
	int (*real)(const char *, struct stat *) = next("stat");
	int result = real(path, out);

	note('d', path, result == 0);
	return result;
}
