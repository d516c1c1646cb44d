/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/sign.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/proc.h"

#define MAX_SIG 16384

/* git's own setting; "~/" is the user's home there */
static int setting(char **path, struct kl_repo *r, const char *key)
{
	const char *value = kl_repo_config(r, key), *home = getenv("HOME");

	if (!value)
		return kl_error(KL_ECANNOT, "%s is not set", key);
	*path = !strncmp(value, "~/", 2) && home ? kl_fs_join(home, value + 2) : kl_strdup(value);
	return 0;
}

static int ssh_keygen(struct kl_buf *out, const char *const *argv, const void *in, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;
	struct kl_proc_opts o = { .argv = argv, .in = in, .in_len = len, .out = out, .err = &words };
	struct kl_proc_result res;
	int err = kl_proc_run(&res, &o);

	if (err == KL_ENOTFOUND)
		return kl_error(KL_ECANNOT, "'ssh-keygen' is not installed");
	if (err < 0)
		return err;
	kl_buf_rtrim(&words);
	return res.exit ? kl_error(KL_ENO, "%s", words.len ? words.ptr : "ssh-keygen refuses it") : 0;
}

static int verify_as(const char *who, const char *allowed, const char *sig, const void *text, size_t len)
{
	const char *argv[] = {
		"ssh-keygen", "-Y", "verify", "-f", allowed, "-I", who, "-n", KL_SIGN_NAMESPACE,
		"-s", sig, NULL
	};
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;

	return ssh_keygen(&out, argv, text, len);
}

/* as git does: who might it be, then whether it is */
static int find(char **principal, const char *allowed, const char *sig, const void *text, size_t len)
{
	const char *argv[] = { "ssh-keygen", "-Y", "find-principals", "-f", allowed, "-s", sig, NULL };
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec who = KL_STRVEC_INIT;
	int err = ssh_keygen(&out, argv, NULL, 0);

	if (err < 0 && err != KL_ENO)
		return err;
	kl_strvec_split(&who, out.ptr, "\n");
	if (err || !who.n)
		return kl_error(KL_EINVALID, "signed by nobody whom gpg.ssh.allowedSignersFile names");
	for (size_t i = 0; i < who.n; i++) {
		err = verify_as(who.v[i], allowed, sig, text, len);
		if (!err)
			*principal = kl_strdup(who.v[i]);
		if (err != KL_ENO)
			return err;
	}
	return kl_error(KL_EINVALID, "the signature does not fit: %s", kl_error_last());
}

int kl_sign_verify(char **principal, struct kl_repo *r, const void *text, size_t len, const char *sig)
{
	KL_AUTO(kl_freep) char *allowed = NULL, *file = NULL;
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	int err;

	if (strlen(sig) > MAX_SIG)
		return kl_error(KL_EINVALID, "a signature of %zu bytes", strlen(sig));
	if ((err = setting(&allowed, r, "gpg.ssh.allowedSignersFile")) < 0 ||
	    (err = kl_fs_tempdir(&dir, "klineage-sign")) < 0)
		return err;
	file = kl_fs_join(dir, "sig");
	if ((err = kl_fs_put(file, sig, strlen(sig), 0600)) < 0)
		return err;
	return find(principal, allowed, file, text, len);
}

static int make(char **sig, struct kl_repo *r, const void *text, size_t len)
{
	KL_AUTO(kl_freep) char *key = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	int err = setting(&key, r, "user.signingKey");
	const char *argv[] = { "ssh-keygen", "-Y", "sign", "-n", KL_SIGN_NAMESPACE, "-f", key, NULL };

	if (err < 0)
		return err;
	if ((err = ssh_keygen(&out, argv, text, len)) < 0)
		return kl_error_in(KL_ECANNOT, "signing with '%s'", key);
	*sig = kl_buf_detach(&out);
	return 0;
}

int kl_sign_event(struct kl_repo *r, json_t *event)
{
	const char *id = kl_json_str_or(event, "id", "");
	KL_AUTO(kl_freep) char *sig = NULL;
	bool wanted = false;
	int err = kl_repo_config_bool(&wanted, r, "klineage.sign", false);

	if (err < 0 || !wanted)
		return err;
	if ((err = make(&sig, r, id, strlen(id))) < 0)
		return kl_error_in(err, "klineage.sign");
	kl_json_set_str(event, "sig", sig);
	return 0;
}
