/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_TOOL_H
#define KL_BACKEND_TOOL_H

#include "base/vec.h"
#include "jail/jail.h"
#include "text/digest.h"

/*
 * tool - runs a compiler, assembler or disassembler on untrusted files, in the compile jail. If the
 * tool fails, the error message is one line with the reason. The caller writes the sources below
 * the work directory; the tool writes its output to a file there, or to stdout.
 *
 *	kl_tool_put(dir, "src-kernel", "a.c", data, len);
 *	struct kl_tool t = { .jail = j, .dir = dir, .prefix = "src-kernel/", .class_ = &class_ };
 *	kl_tool_run(&t, &argv, NULL, "compiling 'a.c'");
 */
#define KL_TOOL_MS 30000 /* limit of the processor time of one process */
/* the limit of wall-clock time is this many times the limit of processor time */
#define KL_TOOL_PATIENCE 20
#define KL_TOOL_MIB 4096 /* limit of the address space of one process */
#define KL_TOOL_OUTPUT_MIB 64
#define KL_TOOL_TEMPLATES_MIB 512 /* file size limit: C++ templates make large intermediate files */
#define KL_TOOL_LOG_MAX 16384

struct kl_tool {
	const struct kl_jail *jail;
	/* absolute path of the work directory; the tool can write only there */
	const char *dir;
	const char *prefix;          /* removed from paths in the tool's messages: "src-kernel/" */
	const char *const *readable; /* as in struct kl_jail_run */
	const char *const *env;
	int64_t limit_ms;    /* limit of processor time, unless `jail` has one; 0 for 30 s */
	int64_t file_mib;    /* limit of the size of a file; 0 for 64 MiB */
	const char **class_; /* set to "compile" when the tool refuses its input */
	struct kl_buf *said; /* receives the tool's messages of the last run; NULL if not wanted */
	/* the tool's messages of all runs, cut at 16 KiB; the caller releases it */
	struct kl_buf log;
};

/**
 * Run a tool. `out` receives its stdout; NULL to discard it. `what` describes the run in messages.
 * Return KL_ENO if the tool refused its input (the message is its first error as "file:line: ...")
 * or exceeded the gate's limit of processor time, memory or output. Return KL_ECANNOT if the tool
 * is not installed, or failed because of the machine (backend/tool_failure.h).
 */
int kl_tool_run(struct kl_tool *tool, const struct kl_strvec *argv, struct kl_buf *out,
		const char *what);

/** Write the file `dir`/`sub`/`path`, and create the directories above it. */
int kl_tool_put(const char *dir, const char *sub, const char *path, const void *data, size_t len);
/** Copy the file `name` of templates/runtime to `dir`/rt/`name`, unless that file exists. */
int kl_tool_put_runtime(const char *dir, const char *name);
/** Add the bytes of the file `name` of templates/runtime to a digest. */
int kl_tool_digest_runtime(struct kl_digest *digest, const char *name);

#endif
