/* SPDX-License-Identifier: Apache-2.0 */
/* signing - makes SSH signatures with the user's key */
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/prefix.h"
#include "event/signature.h"

const char *kl_sign_literal_key(const char *value)
{
	static const char *const kinds[] = { "ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-" };

	if (kl_prefix_has(value, "key::"))
		return value + 5;
	for (size_t i = 0; i < KL_ARRAY_SIZE(kinds); i++)
		if (kl_prefix_has(value, kinds[i]))
			return value;
	return NULL;
}

/*
 * Set `*file` to the file of the signing key. A literal key is written to a file in a new temporary
 * directory, `*dir`, and `*agent` is set to true, because an SSH agent has the private key.
 */
static int signing_key(char **file, bool *agent, char **dir, struct kl_repo *repo)
{
	const char *value = kl_repo_config(repo, "user.signingKey");
	const char *literal = value ? kl_sign_literal_key(value) : NULL;
	int err;

	if (!value || !*value)
		return kl_error(KL_ECANNOT, "user.signingKey is not set");
	*agent = literal != NULL;
	if (!literal) {
		*file = kl_keygen_path(repo, "user.signingKey");
		return 0;
	}
	if ((err = kl_fs_tempdir(dir, "klineage-sign")) < 0)
		return err;
	*file = kl_fs_join(*dir, "key");
	return kl_fs_put(*file, literal, strlen(literal), 0600);
}

int kl_sign_text(char **sig, struct kl_repo *repo, const void *text, size_t len)
{
	KL_AUTO(kl_keygen_release) struct kl_keygen keygen = { 0 };
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_freep) char *key = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	const char *format = kl_repo_config(repo, "gpg.format");
	bool agent;
	int err = signing_key(&key, &agent, &dir, repo);

	if (err < 0)
		return err;
	const char *const args[] = {
		"-Y", "sign", "-n", KL_SIGN_NAMESPACE, "-f", key, agent ? "-U" : NULL, NULL
	};

	kl_keygen_init(&keygen, repo);
	if ((err = kl_keygen_run(&out, &keygen, args, text, len)) < 0) {
		err = kl_error_in(KL_ECANNOT, "cannot sign with '%s'",
				  agent ? "a key of the agent" : key);
		if (!format || strcmp(format, "ssh"))
			kl_error_hint(
				err,
				"events are signed with SSH keys, although gpg.format is '%s'; set "
				"user.signingKey to an SSH key",
				format ? format : "openpgp");
		return err;
	}
	*sig = kl_buf_detach(&out);
	return 0;
}

int kl_sign_event_now(struct kl_repo *repo, struct kl_event *event)
{
	KL_AUTO(kl_freep) char *sig = NULL;
	int err = kl_sign_text(&sig, repo, event->id, strlen(event->id));

	if (!err)
		event->sig = kl_event_keep(event, sig);
	return err;
}

int kl_sign_wanted(bool *out, struct kl_repo *repo)
{
	return kl_repo_config_bool(out, repo, "klineage.sign", false);
}

int kl_sign_event(struct kl_repo *repo, struct kl_event *event)
{
	bool wanted = false;
	int err = kl_sign_wanted(&wanted, repo);

	if (err < 0 || !wanted)
		return err;
	err = kl_sign_event_now(repo, event);
	return err < 0 ? kl_error_in(err, "klineage.sign") : 0;
}
