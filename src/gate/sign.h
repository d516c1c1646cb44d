/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_SIGN_H
#define KL_GATE_SIGN_H

#include "repo/repo.h"
#include "text/json.h"

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

/**
 * Where klineage.sign is set: "sig" into an event that is sealed, over its id, with
 * user.signingKey (a file). KL_ECANNOT: no key, or ssh-keygen does not sign with it.
 */
int kl_sign_event(struct kl_repo *r, json_t *event);

#endif
