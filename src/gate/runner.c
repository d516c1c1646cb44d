/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/runner.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"

static const char *const statuses[] = { "pass", "fail", "inconclusive", "cannot", NULL };

static int check_form(const json_t *result)
{
	const char *schema, *status;
	int err = kl_json_str(&schema, result, "schema");

	if (!err)
		err = kl_json_str(&status, result, "status");
	if (err < 0)
		return err;
	if (strcmp(schema, "klineage.result/1"))
		return kl_error(KL_EINVALID, "a result of schema '%s'", schema);
	for (const char *const *s = statuses; *s; s++)
		if (!strcmp(*s, status))
			return 0;
	return kl_error(KL_EINVALID, "a result of status '%s'", status);
}

static int describe_end(const struct kl_proc_result *res, struct kl_buf *words)
{
	kl_buf_rtrim(words);
	if (res->timed_out)
		return kl_error(KL_ECANNOT, "klineage-worker did not end in time");
	if (res->signal)
		return kl_error(KL_ECANNOT, "klineage-worker was killed by signal %d: %s",
				res->signal, words->ptr);
	return kl_error(KL_ECANNOT, "klineage-worker ended with %d: %s", res->exit, words->ptr);
}

int kl_runner_local(json_t **result, const struct kl_jail *jail, const json_t *job,
		    const char *dir, int64_t timeout_ms)
{
	KL_AUTO(kl_buf_release) struct kl_buf in = KL_BUF_INIT, out = KL_BUF_INIT, words = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *r = NULL;
	KL_AUTO(kl_freep) char *worker = NULL, *plain = NULL;
	struct kl_proc_result res;
	int err = kl_fs_program(&worker, "klineage-worker");

	if (err < 0)
		return kl_error(KL_ECANNOT, "klineage-worker is not built or installed");
#ifdef __SANITIZE_ADDRESS__	/* whose sealed children are a program of their own */
	if ((err = kl_fs_program(&plain, "klineage-worker-plain")) < 0)
		return err;
#endif
	kl_json_canonical(&in, job);
	const char *argv[] = { worker, NULL };
	const char *readable[] = { worker, plain, NULL };
	struct kl_jail_run run = {
		.policy = KL_JAIL_RUN, .argv = argv, .workdir = dir, .readable = readable,
		.in = in.ptr, .in_len = in.len, .out = &out, .err = &words,
		.timeout_ms = timeout_ms,
	};
	err = kl_jail_run(&res, jail, &run);
	if (err < 0)
		return err;
	if (res.timed_out || res.signal || res.exit)
		return describe_end(&res, &words);
	err = kl_json_parse(&r, out.ptr, out.len);
	if (!err)
		err = check_form(r);
	if (err < 0) {
		kl_error_in(err, "klineage-worker's answer");
		return kl_error(KL_ECANNOT, "%s", kl_error_last());
	}
	*result = kl_steal(&r);
	return 0;
}
