/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/tool.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/mem.h"

int kl_tool_put(const char *dir, const char *sub, const char *path, const void *data, size_t len)
{
	KL_AUTO(kl_freep) char *rel = kl_fs_join(sub, path);
	KL_AUTO(kl_freep) char *to = kl_fs_join(dir, rel);
	int err = kl_fs_mkdir_of(to);

	return err ? err : kl_fs_put(to, data, len, 0644);
}

static int read_runtime(struct kl_buf *out, const char *name)
{
	KL_AUTO(kl_freep) char *rel = kl_fs_join("templates/runtime", name);
	KL_AUTO(kl_freep) char *path = NULL;
	int err = kl_fs_share(&path, rel);

	return err ? err : kl_fs_read(out, path, 1 << 20);
}

int kl_tool_put_runtime(const char *dir, const char *name)
{
	KL_AUTO(kl_freep) char *there = kl_asprintf("%s/rt/%s", dir, name);
	KL_AUTO(kl_buf_release) struct kl_buf data = KL_BUF_INIT;
	int err;

	if (kl_fs_exists(there))
		return 0;
	err = read_runtime(&data, name);
	return err ? err : kl_tool_put(dir, "rt", name, data.ptr, data.len);
}

int kl_tool_digest_runtime(struct kl_digest *digest, const char *name)
{
	KL_AUTO(kl_buf_release) struct kl_buf data = KL_BUF_INIT;
	int err = read_runtime(&data, name);

	if (!err)
		kl_digest_add(digest, data.ptr, data.len);
	return err;
}

/* Copy a line; a place in nvcc's form, "a.cu(3): error: x", becomes "a.cu:3: error: x". */
static char *plain_place(const char *line, size_t n)
{
	const char *open = memchr(line, '(', n);
	size_t digits = open ? strspn(open + 1, "0123456789") : 0;

	if (!digits || strncmp(open + 1 + digits, "): ", 3) ||
	    memchr(line, ' ', (size_t)(open - line)))
		return kl_strndup(line, n);
	return kl_asprintf("%.*s:%.*s%.*s", (int)(open - line), line, (int)digits, open + 1,
			   (int)(n - (size_t)(open - line) - digits - 2), open + digits + 2);
}

/* The line to report: the first error, or the first line if there is none. */
static char *first_error(const char *log)
{
	/* gcc and nvcc; the assembler; ptxas */
	static const char *const marks[] = { "error:", "Error:", "error   :", "fatal   :" };
	const char *at = NULL;

	for (size_t i = 0; i < KL_ARRAY_SIZE(marks); i++) {
		const char *hit = strstr(log, marks[i]);

		if (hit && (!at || hit < at))
			at = hit;
	}
	if (!at)
		at = log;
	while (at > log && at[-1] != '\n')
		at--;
	return plain_place(at, strcspn(at, "\n"));
}

static int64_t file_mib(const struct kl_tool *tool)
{
	return tool->file_mib ? tool->file_mib : KL_TOOL_OUTPUT_MIB;
}

static int why_failed(struct kl_tool *tool, const char *what, const struct kl_proc_result *res,
		      int64_t limit_ms, const char *log)
{
	KL_AUTO(kl_freep) char *line = first_error(log);

	*tool->class_ = "compile";
	if (res->timed_out || strstr(log, "CPU time limit exceeded"))
		return kl_error(KL_ENO, "%s: stopped after %lld s", what,
				(long long)limit_ms / 1000);
	if (strstr(log, "File size limit exceeded") || strstr(log, "File too large"))
		return kl_error(KL_ENO, "%s: more than %lld MiB of output", what,
				(long long)file_mib(tool));
	if (strstr(log, "out of memory") || strstr(log, "Cannot allocate memory") ||
	    strstr(log, "memory exhausted") || strstr(log, "bad_alloc"))
		return kl_error(KL_ENO, "%s: needs more than %d MiB of memory", what, KL_TOOL_MIB);
	if (strstr(log, "internal compiler error"))
		return kl_error(KL_ENO, "%s: the compiler crashed: %s", what, line);
	if (!*line)
		return kl_error(KL_ENO, "%s failed", what);
	return kl_error(KL_ENO, "%s", line);
}

/* Spell paths as the contract does: "src-kernel/a.c:1" becomes "a.c:1". */
static void strip_prefix(const char *prefix, struct kl_buf *text)
{
	size_t n = strlen(prefix), to = 0;

	for (size_t at = 0; at < text->len; at++) {
		if (!strncmp(text->ptr + at, prefix, n))
			at += n;
		if (at < text->len)
			text->ptr[to++] = text->ptr[at];
	}
	if (text->len) {
		text->len = to;
		text->ptr[to] = '\0';
	}
}

int kl_tool_run(struct kl_tool *tool, const struct kl_strvec *argv, struct kl_buf *out,
		const char *what)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_jail_run run = {
		.policy = KL_JAIL_COMPILE,
		.argv = (const char *const *)argv->v,
		.workdir = tool->dir,
		.readable = tool->readable,
		.env = tool->env,
		.out = out,
		.err = &text,
		.mem_mib = KL_TOOL_MIB,
		.file_mib = file_mib(tool),
		.timeout_ms = tool->jail->compile_ms ? tool->jail->compile_ms :
			      tool->limit_ms         ? tool->limit_ms :
						       KL_TOOL_MS,
	};
	struct kl_proc_result res;
	int err = kl_jail_run(&res, tool->jail, &run);
	size_t room;

	if (err == KL_ENOTFOUND)
		return kl_error(KL_ECANNOT, "'%s' is not installed", argv->v[0]);
	if (err < 0)
		return err;
	strip_prefix(tool->prefix, &text);
	if (tool->said) {
		kl_buf_clear(tool->said);
		kl_buf_add(tool->said, text.ptr, text.len);
	}
	room = tool->log.len < KL_TOOL_LOG_MAX ? KL_TOOL_LOG_MAX - tool->log.len : 0;
	kl_buf_add(&tool->log, text.ptr, text.len < room ? text.len : room);
	if (res.truncated)
		return kl_error(KL_ENO, "%s: absurdly large output", what);
	if (res.exit || res.signal || res.timed_out)
		return why_failed(tool, what, &res, run.timeout_ms, text.ptr);
	return 0;
}
