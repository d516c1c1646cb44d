/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_KEYGEN_H
#define KL_EVENT_KEYGEN_H

#include "base/buf.h"
#include "base/vec.h"
#include "repo/repo.h"

/* keygen - runs ssh-keygen, which makes and checks SSH signatures (gpg.ssh.program). */
struct kl_keygen {
	const char *program;
	struct kl_strvec env; /* ours with UTC and the C locale, without keys of models */
};

void kl_keygen_init(struct kl_keygen *keygen, struct kl_repo *repo);
void kl_keygen_release(struct kl_keygen *keygen);

/**
 * Run it with these arguments (NULL at the end) and this input. KL_ENO: it failed; the message is
 * the first line of its reason. KL_ECANNOT: it is not installed, or does not answer.
 */
int kl_keygen_run(struct kl_buf *out, const struct kl_keygen *keygen, const char *const *args,
		  const void *in, size_t len);

/** Path in a setting of git, in which "~/" means the user's home; NULL: not set. Caller frees. */
char *kl_keygen_path(struct kl_repo *repo, const char *key);

#endif
