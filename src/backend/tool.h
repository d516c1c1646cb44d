/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_TOOL_H
#define KL_BACKEND_TOOL_H

#include "base/vec.h"
#include "jail/jail.h"
#include "text/digest.h"

/*
 * tool - runs a compiler, assembler or disassembler on untrusted files, in the compile jail. If it
 * fails, the error message is one line with the reason. Sources are written below the work
 * directory; the output is a file there, or text.
 *
 *	kl_tool_put(dir, "src-kernel", "a.c", data, len);
 *	struct kl_tool t = { .jail = j, .dir = dir, .prefix = "src-kernel/", .class_ = &class_ };
 *	kl_tool_run(&t, &argv, NULL, "compiling 'a.c'");
 */
#define KL_TOOL_MS 30000    /* processor time of one process */
#define KL_TOOL_PATIENCE 20 /* times as long in real time */
#define KL_TOOL_MIB 4096    /* address space of one process */
#define KL_TOOL_OUTPUT_MIB 64
#define KL_TOOL_TEMPLATES_MIB 512 /* intermediate files of C++ templates are large */
#define KL_TOOL_LOG_MAX 16384

struct kl_tool {
	const struct kl_jail *jail;
	const char *dir;             /* absolute; the only writable directory */
	const char *prefix;          /* removed from messages: "src-kernel/" */
	const char *const *readable; /* as in struct kl_jail_run */
	const char *const *env;
	int64_t limit_ms;    /* processor time, used if the jail sets no limit; 0: 30 s */
	int64_t file_mib;    /* largest file; 0: 64 MiB */
	const char **class_; /* set to "compile" when the tool refuses its input */
	struct kl_buf *said; /* receives the messages of the last run; NULL: unused */
	/* messages of all runs, cut at 16 KiB; the caller releases it */
	struct kl_buf log;
};

/**
 * Run a tool. `out` receives its stdout, or is NULL; `what` describes the run in messages. KL_ENO:
 * the tool refused its input or exceeded the gate's limit of processor time, memory or output; the
 * message is its first error as "file:line: ...". KL_ECANNOT: the tool is not installed, or the
 * machine is in trouble (backend/tool_failure.h).
 */
int kl_tool_run(struct kl_tool *tool, const struct kl_strvec *argv, struct kl_buf *out,
		const char *what);

/** Write `dir`/`sub`/`path` and create its directories. */
int kl_tool_put(const char *dir, const char *sub, const char *path, const void *data, size_t len);
/** Copy the file `name` of templates/runtime to `dir`/rt/`name`, unless it exists. */
int kl_tool_put_runtime(const char *dir, const char *name);
/** Add the bytes of the file `name` of templates/runtime to a digest. */
int kl_tool_digest_runtime(struct kl_digest *digest, const char *name);

#endif
