/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/runner/runner.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/vec.h"

static const char *const statuses[] = { "pass", "fail", "inconclusive", "cannot", NULL };

int kl_runner_check(const json_t *result)
{
	const char *schema, *status;
	int err = kl_json_str(&schema, result, "schema");

	if (!err)
		err = kl_json_str(&status, result, "status");
	if (err < 0)
		return err;
	if (strcmp(schema, "klineage.result/1"))
		return kl_error(KL_EINVALID, "unknown result schema '%s'", schema);
	for (const char *const *known = statuses; *known; known++)
		if (!strcmp(*known, status))
			return 0;
	return kl_error(KL_EINVALID, "unknown result status '%s'", status);
}

bool kl_runner_lacks_device(const json_t *result)
{
	return !strcmp(kl_json_str_or(result, "status", ""), "cannot") &&
	       !json_object_get(result, "device");
}

static bool has_string(const json_t *list, const char *text)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
		if (json_is_string(item) && !strcmp(json_string_value(item), text))
			return true;
	return false;
}

int kl_runner_check_wall(const json_t *result)
{
	static const char *const closed[] = { "capabilities", "landlock", "seccomp" };
	const char *status = kl_json_str_or(result, "status", "");
	const json_t *wall = json_object_get(result, "wall");
	int64_t processes = kl_json_int_or(wall, "processes", -1);

	if (!strcmp(status, "cannot"))
		return 0;
	if (processes < 0)
		return kl_error(KL_ECANNOT,
				"the worker does not report how host code was confined; use a "
				"klineage-worker that is as new as this git-klineage");
	for (size_t i = 0; i < KL_ARRAY_SIZE(closed) && processes; i++)
		if (!has_string(json_object_get(wall, "closed"), closed[i]))
			return kl_error(KL_ECANNOT,
					"host code was not fully confined: '%s' is missing",
					closed[i]);
	if (!processes && !strcmp(status, "pass"))
		return kl_error(KL_ECANNOT, "the result is a pass, but no host code ran confined");
	return 0;
}

static int exit_error(const struct kl_proc_result *res, struct kl_buf *err_text)
{
	kl_buf_rtrim(err_text);
	if (res->timed_out)
		return kl_error(KL_ECANNOT, "klineage-worker timed out");
	if (res->signal)
		return kl_error(KL_ECANNOT, "klineage-worker was killed by signal %d: %s",
				res->signal, err_text->ptr);
	return kl_error(KL_ECANNOT, "klineage-worker exited with status %d: %s", res->exit,
			err_text->ptr);
}

/* --- local ----------------------------------------------------------------- */

/*
 * Make a clean environment: a fixed PATH and locale, the job's directory as HOME and TMPDIR, the
 * path of ncu if it is known, and the user's variables that the device needs.
 */
static void clean_environment(struct kl_strvec *env, const struct kl_runner_work *work)
{
	kl_strvec_push(env, "PATH=/usr/bin:/bin");
	kl_strvec_push(env, "LC_ALL=C");
	kl_strvec_pushf(env, "HOME=%s", work->dir);
	kl_strvec_pushf(env, "TMPDIR=%s", work->dir);
	if (work->ncu)
		kl_strvec_pushf(env, "KLINEAGE_NCU=%s", work->ncu);
	for (const char *const *name = work->device->environment; *name; name++) {
		const char *value = getenv(*name);

		if (value)
			kl_strvec_pushf(env, "%s=%s", *name, value);
	}
}

/*
 * Run a worker for device code without a jail. The worker needs the driver's files and device
 * nodes, which differ from machine to machine, so a jail could hide some of them. A candidate's
 * device code does not run on the host: the worker parses its cubin and launches it.
 */
static int run_bare(struct kl_proc_result *res, const char *const *argv,
		    const struct kl_jail_run *run, const struct kl_runner_work *work)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec env = KL_STRVEC_INIT;
	struct kl_proc_opts opts = {
		.argv = argv,
		.dir = run->workdir,
		.in = run->in,
		.in_len = run->in_len,
		.out = run->out,
		.err = run->err,
		.timeout_ms = run->timeout_ms,
	};

	clean_environment(&env, work);
	opts.env = (const char *const *)env.v;
	return kl_proc_run(res, &opts);
}

static int run_local(json_t **result, const struct kl_runner_work *work)
{
	KL_AUTO(kl_buf_release) struct kl_buf in = KL_BUF_INIT, out = KL_BUF_INIT,
					      err_text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	KL_AUTO(kl_freep) char *worker = NULL, *plain = NULL;
	struct kl_proc_result res;
	int err = kl_fs_program(&worker, "klineage-worker");

	if (err < 0)
		return kl_error(KL_ECANNOT, "klineage-worker is not built or installed");
#ifdef __SANITIZE_ADDRESS__ /* the worker's sealed children run a program without sanitizers */
	if ((err = kl_fs_program(&plain, "klineage-worker-plain")) < 0)
		return err;
#endif
	kl_json_canonical(&in, work->job);
	const char *argv[] = { worker, NULL };
	const char *readable[] = { worker, plain, NULL };
	struct kl_jail_run run = {
		.policy = KL_JAIL_RUN,
		.argv = argv,
		.workdir = work->dir,
		.readable = readable,
		.in = in.ptr,
		.in_len = in.len,
		.out = &out,
		.err = &err_text,
		.timeout_ms = work->timeout_ms,
	};
	err = work->device ? run_bare(&res, argv, &run, work) : kl_jail_run(&res, work->jail, &run);
	if (err < 0)
		return err;
	if (res.timed_out || res.signal || res.exit)
		return exit_error(&res, &err_text);
	err = kl_json_parse(&doc, out.ptr, out.len);
	if (!err)
		err = kl_runner_check(doc);
	if (err < 0) {
		kl_error_in(err, "klineage-worker's answer");
		return kl_error(KL_ECANNOT, "%s", kl_error_last());
	}
	*result = kl_steal(&doc);
	return 0;
}

/* --- ssh --------------------------------------------------------------------- */

static bool has_only(const char *text, const char *others)
{
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr(others, *text))
			return false;
	return true;
}

/* Check that neither ssh nor a shell would treat any character of the host name specially. */
static int check_host(const char *host)
{
	if (!host || !*host)
		return kl_error(KL_EUSAGE, "runner 'ssh' needs a host: ssh:<host>");
	if (*host == '-' || !has_only(host, "._@-") || strlen(host) > 128)
		return kl_error(KL_EUSAGE,
				"invalid host '%.128s': use only letters, digits, '.', '_', "
				"'@' and '-', and no '-' at the start",
				host);
	return 0;
}

bool kl_runner_program_ok(const char *path)
{
	return *path && *path != '-' && has_only(path, "._/+-~") && strlen(path) <= 1024;
}

static int ssh_error(const struct kl_proc_result *res, const char *host, struct kl_buf *err_text)
{
	const char *last;
	int err;

	kl_buf_rtrim(err_text);
	last = strrchr(err_text->ptr, '\n');
	last = last ? last + 1 : err_text->ptr;
	if (res->exit == 127)
		err = kl_error(KL_ECANNOT, "no klineage-worker on '%s': %s", host, last);
	else if (res->exit == 255 || res->signal)
		err = kl_error(KL_ECANNOT, "the connection to '%s' failed: %s", host,
			       *last ? last : "ssh gave no reason");
	else
		err = kl_error(KL_ECANNOT, "the worker on '%s' exited with status %d: %s", host,
			       res->exit, last);
	if (res->exit == 127)
		kl_error_hint(
			err,
			"git config klineage.workerPath <path of klineage-worker on that host>");
	return err;
}

static int carry_ssh(struct kl_buf *results, const struct kl_runner *runner,
		     const struct kl_runner_load *load)
{
	KL_AUTO(kl_buf_release) struct kl_buf err_text = KL_BUF_INIT;
	const char *worker = load->worker ? load->worker : "klineage-worker";
	const char *argv[] = { "ssh",       "-o",   "BatchMode=yes", "-o", "ServerAliveInterval=30",
			       runner->arg, worker, "--bundle",      "-",  NULL };
	struct kl_proc_opts opts = {
		.argv = argv,
		.in = load->bundle->ptr,
		.in_len = load->bundle->len,
		.out = results,
		.err = &err_text,
		.flags = load->talk ? KL_PROC_SHOW_STDERR : 0,
	};
	struct kl_proc_result res;
	int err;

	if (!kl_runner_program_ok(worker))
		return kl_error(KL_EINVALID,
				"klineage.workerPath: invalid path '%s': use only letters, digits "
				"and '. _ / + - ~'",
				worker);
	err = kl_proc_run(&res, &opts);
	if (err == KL_ENOTFOUND)
		return kl_error(KL_ECANNOT, "'ssh' is not installed");
	if (err < 0)
		return err;
	return res.exit || res.signal ? ssh_error(&res, runner->arg, &err_text) : 0;
}

/* --- the table ------------------------------------------------------------------ */

static const struct kl_runner_way ways[] = {
	{ .name = "local", .run = run_local },
	{ .name = "bundle" },
	{ .name = "ssh", .check = check_host, .carry = carry_ssh },
};

int kl_runner_parse(struct kl_runner *out, const char *name)
{
	char *colon;

	if (!name)
		name = ways[0].name;
	*out = (struct kl_runner){ .way = NULL };
	if (strlen(name) < sizeof(out->name)) {
		memcpy(out->name, name, strlen(name) + 1);
		memcpy(out->copy, name, strlen(name) + 1);
	}
	colon = strchr(out->copy, ':');
	if (colon)
		*colon = '\0';
	for (size_t i = 0; i < KL_ARRAY_SIZE(ways); i++) {
		if (strcmp(ways[i].name, out->copy))
			continue;
		if (colon && !ways[i].check)
			return kl_error(KL_EUSAGE, "runner '%s' takes no argument", out->copy);
		out->way = &ways[i];
		out->arg = colon ? colon + 1 : NULL;
		return ways[i].check ? ways[i].check(out->arg) : 0;
	}
	return kl_error(KL_EUSAGE, "unknown runner '%.100s' (available: local, bundle, ssh:<host>)",
			name);
}
