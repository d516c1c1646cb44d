/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_SIGN_H
#define KL_GATE_SIGN_H

#include "repo/repo.h"

/*
 * sign - SSH signatures (SSHSIG, namespace klineage-gate), made and checked by ssh-keygen, with
 * the keys and the list of allowed signers that git uses.
 */
#define KL_SIGN_NAMESPACE "klineage-gate"

/**
 * Whose signature is this? `*principal` is the caller's. KL_EINVALID: nobody's whom
 * gpg.ssh.allowedSignersFile names, or not of this text. KL_ECANNOT: no such list, no ssh-keygen.
 */
int kl_sign_verify(char **principal, struct kl_repo *r, const void *text, size_t len, const char *sig);

/** With user.signingKey, a file. Caller frees. */
int kl_sign_make(char **sig, struct kl_repo *r, const void *text, size_t len);

#endif
