/* SPDX-License-Identifier: Apache-2.0 */
#include "event/keygen.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/proc.h"

#define PATIENCE_MS 60000 /* long, because an SSH agent can ask the user for confirmation */

char *kl_keygen_path(struct kl_repo *repo, const char *key)
{
	const char *value = kl_repo_config(repo, key), *home = getenv("HOME");

	if (!value || !*value)
		return NULL;
	return !strncmp(value, "~/", 2) && home ? kl_fs_join(home, value + 2) : kl_strdup(value);
}

void kl_keygen_init(struct kl_keygen *keygen, struct kl_repo *repo)
{
	const char *program = kl_repo_config(repo, "gpg.ssh.program");

	*keygen = (struct kl_keygen){ .program = program && *program ? program : "ssh-keygen" };
	for (char **entry = environ; *entry; entry++)
		if (strncmp(*entry, "TZ=", 3) && strncmp(*entry, "LC_ALL=", 7) &&
		    !kl_environment_is_key(*entry))
			kl_strvec_push(&keygen->env, *entry);
	kl_strvec_push(&keygen->env, "TZ=UTC0");
	kl_strvec_push(&keygen->env, "LC_ALL=C");
}

void kl_keygen_release(struct kl_keygen *keygen)
{
	kl_strvec_release(&keygen->env);
}

int kl_keygen_run(struct kl_buf *out, const struct kl_keygen *keygen, const char *const *args,
		  const void *in, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf complaint = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	struct kl_proc_opts opts = {
		.env = (const char *const *)keygen->env.v,
		.in = in,
		.in_len = len,
		.out = out,
		.err = &complaint,
		.timeout_ms = PATIENCE_MS,
	};
	struct kl_proc_result res;
	int err;

	kl_strvec_push(&argv, keygen->program);
	kl_strvec_pushv(&argv, args);
	opts.argv = (const char *const *)argv.v;
	err = kl_proc_run(&res, &opts);
	if (err == KL_ENOTFOUND)
		return kl_error(KL_ECANNOT, "'%s' is not installed", keygen->program);
	if (err < 0)
		return err;
	kl_buf_rtrim(&complaint);
	if (res.timed_out)
		return kl_error(KL_ECANNOT, "'%s' did not answer within a minute", keygen->program);
	return res.exit ?
		       kl_error(KL_ENO, "%.*s", (int)strcspn(complaint.ptr, "\n"), complaint.ptr) :
		       0;
}
