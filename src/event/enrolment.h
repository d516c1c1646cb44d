/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_ENROLMENT_H
#define KL_EVENT_ENROLMENT_H

#include "repo/repo.h"

/*
 * enrolment - makes the user a signer of this repository: trust on first use. The user's public key is
 * added to .klineage/allowed_signers in the worktree, and the configuration asks for signatures. The
 * key counts once a commit has brought it to the base branch (signers.h), so that whoever accepts the
 * commit decides about the key.
 */
struct kl_enrolment {
	char *who;  /* the principal: the user's mail address */
	char *base; /* what klineage.signers names; NULL: there is no branch yet */
	bool added; /* false: the list had the key already */
};

/**
 * Enrol the user: make a signature as a test, add the key to the list, and set klineage.sign and, if
 * it is not set, klineage.signers. KL_ECANNOT: there is no usable key or address; nothing is changed.
 * KL_EINVALID: the repository is bare, or the list or its directory is not a plain one.
 */
int kl_enrol(struct kl_enrolment *out, struct kl_repo *repo);
void kl_enrolment_release(struct kl_enrolment *enrolment);

/** Does the user sign with SSH elsewhere, and has not decided about signing here? */
bool kl_enrolment_is_open(struct kl_repo *repo);

#endif
