/* SPDX-License-Identifier: Apache-2.0 */
/* exec - the provider that runs a user-supplied command */
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/prefix.h"
#include "base/proc.h"
#include "base/vec.h"
#include "model/provider/body.h"
#include "model/provider/exec_sandbox.h"
#include "model/provider/ops.h"
#include "model/provider/reply.h"

/*
 * The command is run by /bin/sh -c, with the request as JSON on stdin, the reply as JSON on stdout
 * and diagnostics on stderr. Git finds no repository from the command's working directory. The
 * process group of the command is killed when the command ends.
 */
/* JSON can need six bytes to escape one byte of text, but most texts need few escapes */
#define MAX_STDOUT (4 * KL_PROVIDER_MAX_TEXT)
#define MAX_TAIL 300
#define TRY_AGAIN 75 /* EX_TEMPFAIL of sysexits.h: the command asks for another attempt */

static int exec_open(struct kl_provider *provider)
{
	if (!provider->command)
		return kl_error(
			KL_EUSAGE,
			"provider 'exec' needs a command: give --exec or set klineage.chat.exec");
	return 0;
}

/*
 * Make the environment of the command. It lacks git's variables, which would lead back to the
 * user's repository, and the key of our own requests. It keeps git from searching directories above
 * `dir`.
 */
static void set_environment(struct kl_strvec *env, const char *dir)
{
	static const char *const drop[] = { "GIT_", "KLINEAGE_CHAT_KEY=", "OLDPWD=", "PWD=" };
	const char *end = strrchr(dir, '/');

	for (char **var = environ; *var; var++) {
		bool keep = true;

		for (size_t i = 0; i < KL_ARRAY_SIZE(drop); i++)
			keep = keep && !kl_prefix_has(*var, drop[i]);
		if (keep)
			kl_strvec_push(env, *var);
	}
	/* keep git from using a directory just because it looks like a bare repository */
	kl_strvec_push(env, "GIT_CONFIG_COUNT=1");
	kl_strvec_push(env, "GIT_CONFIG_KEY_0=safe.bareRepository");
	kl_strvec_push(env, "GIT_CONFIG_VALUE_0=explicit");
	kl_strvec_pushf(env, "PWD=%s", dir);
	kl_strvec_pushf(env, "GIT_CEILING_DIRECTORIES=%.*s", end == dir ? 1 : (int)(end - dir),
			dir);
}

/*
 * Resolve the symlinks in `dir`, since git compares ceiling directories literally. The caller frees
 * *out.
 */
static int real_dir(char **out, const char *dir)
{
	KL_AUTO(kl_freep) char *git = kl_fs_join(dir, ".git");
	char *real = realpath(dir, NULL);

	if (!real)
		return kl_error_errno("cannot enter '%s'", dir);
	*out = real;
	if (kl_fs_exists(git))
		return kl_error(KL_EINVALID,
				"'%s' contains a repository, which the command must not see", dir);
	return 0;
}

/* Append the end of the command's stderr, from the start of a line if possible. */
static void add_tail(struct kl_buf *out, const struct kl_buf *err)
{
	size_t from = err->len > MAX_TAIL ? err->len - MAX_TAIL : 0;
	const char *line = from ? memchr(err->ptr + from, '\n', err->len - from - 1) : NULL;

	if (line)
		from = (size_t)(line + 1 - err->ptr);
	kl_body_quote(out, err->ptr + from, err->len - from, MAX_TAIL);
}

static int refuse_reply(const char *what, const struct kl_buf *err)
{
	KL_AUTO(kl_buf_release) struct kl_buf said = KL_BUF_INIT;

	add_tail(&said, err);
	if (said.len)
		return kl_error(KL_EINVALID, "the command %s; its stderr: %s", what, said.ptr);
	return kl_error(KL_EINVALID, "the command %s", what);
}

static int judge_result(const struct kl_provider *provider, const struct kl_proc_result *res,
			const struct kl_buf *out, const struct kl_buf *err)
{
	KL_AUTO(kl_freep) char *what = NULL;

	if (res->timed_out)
		return kl_error(KL_ETIMEOUT, "the command did not finish within %lld s",
				(long long)(provider->timeout_ms + 999) / 1000);
	if (res->truncated)
		return kl_error(KL_EINVALID, "the command printed more than %zu MiB",
				MAX_STDOUT >> 20);
	if (res->signal)
		what = kl_asprintf("was killed by signal %d", res->signal);
	else if (res->exit)
		what = kl_asprintf("failed with exit code %d", res->exit);
	else if (!out->len)
		what = kl_strdup("printed nothing");
	return what ? refuse_reply(what, err) : 0;
}

static int parse_reply(struct kl_reply *out, const struct kl_buf *text)
{
	KL_AUTO(json_decrefp) json_t *obj = NULL;
	const char *schema;
	int err;

	if ((err = kl_json_parse(&obj, text->ptr, text->len)) < 0 ||
	    (err = kl_json_str(&schema, obj, "schema")) < 0)
		return err;
	if (strcmp(schema, "klineage.chat-reply/1"))
		return kl_error(KL_EINVALID, "JSON: 'schema' is not klineage.chat-reply/1");
	return kl_reply_read(out, obj);
}

/*
 * If the command cannot be run, add a hint, since the file of the command may be in the hidden
 * repository.
 */
static int judge_alone(const struct kl_proc_result *res, int err)
{
	if (err < 0 && (res->exit == 126 || res->exit == 127))
		kl_error_hint(
			err,
			"while a step is re-derived or a card is tried, the command cannot see "
			"this repository; if the command is stored in it, move it or set "
			"klineage.chat.hide to false");
	return err;
}

static int run_command(struct kl_reply *out, struct kl_provider *provider,
		       const struct kl_buf *body, const char *dir,
		       const struct kl_request_context *context,
		       const struct kl_provider_watch *watch)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf said = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec env = KL_STRVEC_INIT, argv = KL_STRVEC_INIT;
	struct kl_proc_result res = { 0 };
	struct kl_proc_opts opts = {
		.dir = dir,
		.in = body->ptr,
		.in_len = body->len,
		.out = &text,
		.err = &said,
		.max_output = MAX_STDOUT,
		.timeout_ms = provider->timeout_ms,
	};
	int err;

	set_environment(&env, dir);
	opts.env = (const char *const *)env.v;
	if (context->alone &&
	    (err = kl_hide_prefix(&argv, provider->repo, dir, provider->command)) < 0)
		return err;
	out->alone = argv.n > 0;
	kl_strvec_pushv(&argv, (const char *const[]){ "/bin/sh", "-c", provider->command, NULL });
	opts.argv = (const char *const *)argv.v;
	if ((err = kl_proc_run(&res, &opts)) < 0)
		return out->alone ? judge_alone(&res, err) : err;
	out->failure.transient = res.timed_out || res.exit == TRY_AGAIN;
	if ((err = judge_result(provider, &res, &text, &said)) < 0)
		return out->alone ? judge_alone(&res, err) : err;
	if (parse_reply(out, &text) < 0) {
		KL_AUTO(kl_buf_release) struct kl_buf what = KL_BUF_INIT;

		kl_buf_adds(&what, "printed no valid reply: ");
		kl_body_quote(&what, kl_error_last(), strlen(kl_error_last()), MAX_TAIL);
		return refuse_reply(what.ptr, &said);
	}
	return kl_provider_heard(watch, (int64_t)text.len, &out->usage);
}

static int exec_send(struct kl_reply *out, struct kl_provider *provider,
		     const struct kl_provider_request *request,
		     const struct kl_request_context *context,
		     const struct kl_provider_watch *watch)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *scratch = NULL;
	KL_AUTO(kl_freep) char *dir = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
	size_t prefix;
	int err;

	if (!context->dir && (err = kl_fs_tempdir(&scratch, "klineage-exec")) < 0)
		return err;
	if ((err = real_dir(&dir, context->dir ? context->dir : scratch)) < 0)
		return err;
	kl_provider_plain_body(&body, &prefix, provider, request, context);
	kl_buf_addch(&body, '\n');
	return run_command(out, provider, &body, dir, context, watch);
}

const struct kl_provider_ops kl_provider_exec = {
	.name = "exec",
	.open = exec_open,
	.body = kl_provider_plain_body,
	.send = exec_send,
};
