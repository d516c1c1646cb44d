/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/tool.h"

#include <string.h>

#include "backend/tool_failure.h"
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

static int64_t file_mib(const struct kl_tool *tool)
{
	return tool->file_mib ? tool->file_mib : KL_TOOL_OUTPUT_MIB;
}

/*
 * Remove a prefix of paths, so that messages name files as the contract does: "src-kernel/a.c:1"
 * becomes "a.c:1".
 */
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

/*
 * Return the limit of processor time. A source that exceeds this limit is refused. The limit of
 * wall-clock time only ensures that a run ends: on a busy machine, a run can be slow through no
 * fault of the source.
 */
static int64_t cpu_ms(const struct kl_tool *tool)
{
	return tool->jail->compile_ms ? tool->jail->compile_ms :
	       tool->limit_ms         ? tool->limit_ms :
					KL_TOOL_MS;
}

static int explain(struct kl_tool *tool, const struct kl_proc_result *res, const char *what,
		   const char *log)
{
	const struct kl_tool_failure failure = {
		.res = res,
		.what = what,
		.log = log,
		.cpu_ms = cpu_ms(tool),
		.mem_mib = KL_TOOL_MIB,
		.file_mib = file_mib(tool),
	};
	int err = kl_tool_failure(&failure);

	if (err == KL_ENO)
		*tool->class_ = "compile";
	return err;
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
		.cpu_ms = cpu_ms(tool),
		.timeout_ms = KL_TOOL_PATIENCE * cpu_ms(tool),
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
	if (res.truncated) {
		*tool->class_ = "compile";
		return kl_error(KL_ENO, "%s: the output is too large", what);
	}
	return res.exit || res.signal || res.timed_out ? explain(tool, &res, what, text.ptr) : 0;
}
