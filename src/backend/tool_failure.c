/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/tool_failure.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/prefix.h"

/* One line of a tool's messages. */
struct line {
	const char *text;
	size_t n;
};

static bool next_line(struct line *line)
{
	const char *at = line->text + line->n;

	at += *at == '\n';
	if (!*at)
		return false;
	*line = (struct line){ at, strcspn(at, "\n") };
	return true;
}

static bool has(const struct line *line, const char *what)
{
	return memmem(line->text, line->n, what, strlen(what)) != NULL;
}

static bool ends_with(const struct line *line, const char *what)
{
	size_t n = strlen(what), end = line->n;

	while (end && strchr("'\". \r", line->text[end - 1]))
		end--;
	return end >= n && !memcmp(line->text + end - n, what, n);
}

/*
 * Return true if the line names a place in the input: "a.c:3:5:", "{standard input}:3:",
 * "a.cu(3):".
 */
static bool has_place(const struct line *line)
{
	for (size_t i = 1; i + 1 < line->n; i++) {
		size_t digits = 0;

		if (line->text[i] != ':' && line->text[i] != '(')
			continue;
		while (i + 1 + digits < line->n &&
		       isdigit((unsigned char)line->text[i + 1 + digits]))
			digits++;
		if (!digits || i + 1 + digits >= line->n)
			continue;
		return line->text[i] == ':' ? line->text[i + 1 + digits] == ':' :
					      line->text[i + 1 + digits] == ')';
	}
	return false;
}

/* Error texts of the system for a lack of memory, disk space or descriptors, or a failing disk. */
static const char *const shortages[] = {
	"No space left on device", "Disk quota exceeded",
	"Too many open files",     "Too many open files in system",
	"Cannot allocate memory",  "Resource temporarily unavailable",
	"Input/output error",      "Read-only file system",
	"Stale file handle",       "Bad file descriptor",
};

static bool is_shortage(const struct line *line)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(shortages); i++)
		if (ends_with(line, shortages[i]))
			return true;
	return false;
}

/*
 * Return true if the line says that a standard header is missing: the compiler is then not
 * completely installed.
 */
static bool lacks_header(const struct line *line)
{
	static const char *const names[] = {
		"assert.h", "complex.h", "ctype.h",  "errno.h",   "fenv.h",      "float.h",
		"limits.h", "math.h",    "stdarg.h", "stdbool.h", "stddef.h",    "stdint.h",
		"stdio.h",  "stdlib.h",  "string.h", "tgmath.h",  "immintrin.h", "time.h",
	};

	if (!has(line, "fatal error: ") || !ends_with(line, "No such file or directory"))
		return false;
	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++) {
		KL_AUTO(kl_freep) char *missing = kl_asprintf("error: %s: ", names[i]);

		if (has(line, missing))
			return true;
	}
	return false;
}

/* Return true if the line says that the machine is in trouble. */
static bool is_trouble(const struct line *line)
{
	static const char *const words[] = {
		"internal compiler error",
		"error while loading shared libraries",
		"cannot execute",
		"cannot find -l",
		"signal terminated program",
		"died due to signal",
		"out of memory",
		"memory exhausted",
		"std::bad_alloc",
	};

	if (lacks_header(line))
		return true;
	/*
	 * in a line that names a place, only fatal and internal errors of the compiler count,
	 * because the line can quote the input
	 */
	if (has_place(line))
		return has(line, "atal error: ") ? is_shortage(line) :
						   has(line, "internal compiler error");
	for (size_t i = 0; i < KL_ARRAY_SIZE(words); i++)
		if (has(line, words[i]))
			return true;
	return is_shortage(line);
}

/* Return true if the line says that the input is wrong. */
static bool is_complaint(const struct line *line)
{
	static const char *const linker[] = { "undefined reference to ", "multiple definition of ",
					      "relocation truncated to fit",
					      "relocation R_X86_64_" };
	static const char *const device[] = { "ptxas ", "nvlink ", "nvdisasm ",
					      "nvcc ",  "Error: ", "error: " };

	/* the assembler gives no line number for an error that concerns its whole input */
	if (has_place(line) || !strncmp(line->text, "{standard input}: Error: ", 25))
		return has(line, "error") || has(line, "Error");
	for (size_t i = 0; i < KL_ARRAY_SIZE(linker); i++)
		if (has(line, linker[i]))
			return true;
	for (size_t i = 0; i < KL_ARRAY_SIZE(device); i++)
		if (kl_prefix_has(line->text, device[i]) &&
		    (has(line, "rror") || has(line, "fatal")))
			return true;
	return false;
}

static bool find_line(struct line *out, const char *log, bool (*wanted)(const struct line *))
{
	struct line line = { log, 0 };

	while (next_line(&line)) {
		if (!wanted(&line))
			continue;
		*out = line;
		return true;
	}
	return false;
}

static bool says_error(const struct line *line)
{
	return has(line, "rror:") || has(line, "error   :") || has(line, "fatal   :");
}

static bool has_text(const struct line *line)
{
	return line->n > 0;
}

/*
 * Copy a line. A place in nvcc's form is rewritten: "a.cu(3): error: x" becomes "a.cu:3: error: x".
 */
static char *plain_place(const struct line *line)
{
	const char *open = memchr(line->text, '(', line->n);
	size_t digits = open ? strspn(open + 1, "0123456789") : 0;

	if (!digits || strncmp(open + 1 + digits, "): ", 3) ||
	    memchr(line->text, ' ', (size_t)(open - line->text)))
		return kl_strndup(line->text, line->n);
	return kl_asprintf("%.*s:%.*s%.*s", (int)(open - line->text), line->text, (int)digits,
			   open + 1, (int)(line->n - (size_t)(open - line->text) - digits - 2),
			   open + digits + 2);
}

/*
 * Return true if this process already had a hard limit below the gate's limit `ours`, so that the
 * gate's limit had no effect.
 */
static bool is_starved(int resource, int64_t ours)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) < 0 ||
	       (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < (rlim_t)ours);
}

/* Return true if a line of the log contains the words and names no place in the input. */
static bool log_has(const struct kl_tool_failure *failure, const char *words)
{
	struct line line = { failure->log, 0 };

	while (next_line(&line))
		if (!has_place(&line) && has(&line, words))
			return true;
	return false;
}

/*
 * Return true if the tool exceeded the limit of processor time. A tool that ignores SIGXCPU, as one
 * of nvcc's programs does, is killed a second later; nvcc's shell then reports "Killed", unless the
 * shell was replaced by that program.
 */
static bool ran_too_long(const struct kl_tool_failure *failure)
{
	const struct kl_proc_result *res = failure->res;
	bool killed = res->signal == SIGKILL || !strncmp(failure->log, "Killed", 6) ||
		      log_has(failure, "died due to signal 9");

	return res->signal == SIGXCPU || log_has(failure, "CPU time limit exceeded") ||
	       log_has(failure, "died due to signal 24") ||
	       (killed && !res->timed_out && res->wall_ns >= failure->cpu_ms * 1000000);
}

/* Return true if the machine has at least `mib` MiB of memory available. */
static bool has_memory(int64_t mib)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *at;
	long long kib;

	if (kl_fs_read(&text, "/proc/meminfo", 1 << 20) < 0) {
		kl_error_clear();
		return false;
	}
	at = strstr(text.ptr, "MemAvailable:");
	return at && sscanf(at + 13, "%lld", &kib) == 1 && kib / 1024 >= mib;
}

/*
 * Check whether the tool exceeded one of the gate's own limits. Return KL_ENO if it did. The
 * message names the limit.
 */
static int check_limits(const struct kl_tool_failure *failure)
{
	const struct kl_proc_result *res = failure->res;
	int64_t cpu_s = (failure->cpu_ms + 999) / 1000;

	if (ran_too_long(failure) && !is_starved(RLIMIT_CPU, cpu_s))
		return kl_error(KL_ENO, "%s: stopped after %lld s of processor time", failure->what,
				(long long)cpu_s);
	if ((res->signal == SIGXFSZ || log_has(failure, "File size limit exceeded") ||
	     log_has(failure, "File too large") || log_has(failure, "died due to signal 25")) &&
	    !is_starved(RLIMIT_FSIZE, failure->file_mib << 20))
		return kl_error(KL_ENO, "%s: more than %lld MiB of output", failure->what,
				(long long)failure->file_mib);
	if ((log_has(failure, "out of memory") || log_has(failure, "memory exhausted") ||
	     log_has(failure, "Cannot allocate memory") || log_has(failure, "bad_alloc")) &&
	    !is_starved(RLIMIT_AS, failure->mem_mib << 20) && has_memory(failure->mem_mib))
		return kl_error(KL_ENO, "%s: needs more than %lld MiB of memory", failure->what,
				(long long)failure->mem_mib);
	return 0;
}

static int trouble(const struct kl_tool_failure *failure, const struct line *line)
{
	const struct kl_proc_result *res = failure->res;

	if (res->timed_out)
		return kl_error(
			KL_ECANNOT,
			"%s: got too little processor time on a busy machine: stopped after "
			"%lld s",
			failure->what, (long long)(res->wall_ns / 1000000000));
	if (res->signal)
		return kl_error(KL_ECANNOT, "%s: the program was killed by signal %d%s%.*s",
				failure->what, res->signal, line->n ? ": " : "", (int)line->n,
				line->text);
	return kl_error(KL_ECANNOT, "%s: the program failed with status %d%s%.*s", failure->what,
			res->exit, line->n ? ": " : "", (int)line->n, line->text);
}

int kl_tool_failure(const struct kl_tool_failure *failure)
{
	const struct kl_proc_result *res = failure->res;
	struct line line = { "", 0 };
	KL_AUTO(kl_freep) char *text = NULL;
	int err = check_limits(failure);

	if (err < 0)
		return err;
	if (find_line(&line, failure->log, is_trouble))
		return trouble(failure, &line);
	if (res->signal || res->timed_out || res->exit == 126 || res->exit == 127 ||
	    !find_line(&line, failure->log, is_complaint)) {
		if (!find_line(&line, failure->log, says_error))
			find_line(&line, failure->log, has_text);
		return trouble(failure, &line);
	}
	find_line(&line, failure->log, says_error);
	text = plain_place(&line);
	return kl_error(KL_ENO, "%s", text);
}
