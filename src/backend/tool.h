/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_TOOL_H
#define KL_BACKEND_TOOL_H

#include "base/vec.h"
#include "jail/jail.h"
#include "text/digest.h"

/*
 * tool - runs a compiler, assembler or disassembler on hostile files, in the compile jail. Where
 * it fails, one line has the reason. Sources are laid out below the work directory; what comes
 * back is a file there, or text.
 *
 *	kl_tool_put(dir, "src-kernel", "a.c", data, len);
 *	struct kl_tool t = { .jail = j, .dir = dir, .prefix = "src-kernel/", .class_ = &class_ };
 *	kl_tool_run(&t, &argv, NULL, "compiling 'a.c'");
 */
#define KL_TOOL_MS 30000
#define KL_TOOL_MIB 4096 /* address space of one process */
#define KL_TOOL_OUTPUT_MIB 64
#define KL_TOOL_TEMPLATES_MIB 512 /* what a compiler of C++ templates writes between its steps */
#define KL_TOOL_LOG_MAX 16384

struct kl_tool {
	const struct kl_jail *jail;
	const char *dir;             /* absolute, the one writable directory */
	const char *prefix;          /* cut out of messages: "src-kernel/" */
	const char *const *readable; /* as in struct kl_jail_run */
	const char *const *env;
	int64_t limit_ms;    /* where the jail says none; 0: 30 s */
	int64_t file_mib;    /* largest file; 0: 64 */
	const char **class_; /* set to "compile" when the tool refuses its input */
	struct kl_buf *said; /* gets all messages of each run anew, or NULL */
	/* messages of all runs, cut at 16 KiB; the caller releases */
	struct kl_buf log;
};

/**
 * `out`: its stdout, or NULL. KL_ENO: it refused, took too long, too much memory or wrote too much;
 * the message is its first error as "file:line: ...". KL_ECANNOT: not installed.
 */
int kl_tool_run(struct kl_tool *tool, const struct kl_strvec *argv, struct kl_buf *out,
		const char *what);

/** Write `dir`/`sub`/`path`, making directories. */
int kl_tool_put(const char *dir, const char *sub, const char *path, const void *data, size_t len);
/** A file of templates/runtime as `dir`/rt/`name`, unless it is there. */
int kl_tool_put_runtime(const char *dir, const char *name);
/** Its bytes into a digest. */
int kl_tool_digest_runtime(struct kl_digest *digest, const char *name);

#endif
