/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_KEYGEN_H
#define KL_EVENT_KEYGEN_H

#include "base/buf.h"
#include "base/vec.h"
#include "repo/repo.h"

/*
 * keygen - runs ssh-keygen, or the program in gpg.ssh.program, which makes and checks SSH
 * signatures.
 */
struct kl_keygen {
	const char *program;
	struct kl_strvec env; /* our environment with UTC and the C locale, without API keys */
};

void kl_keygen_init(struct kl_keygen *keygen, struct kl_repo *repo);
void kl_keygen_release(struct kl_keygen *keygen);

/**
 * Run ssh-keygen with these arguments (ending with NULL) and this input. Return KL_ENO if
 * ssh-keygen failed. The message is the first line that it wrote to standard error. Return
 * KL_ECANNOT if ssh-keygen is not installed, or did not answer within a minute.
 */
int kl_keygen_run(struct kl_buf *out, const struct kl_keygen *keygen, const char *const *args,
		  const void *in, size_t len);

/** Return the path in a git setting, with "~/" expanded; NULL if not set. The caller frees. */
char *kl_keygen_path(struct kl_repo *repo, const char *key);

#endif
