/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_ENROLMENT_H
#define KL_EVENT_ENROLMENT_H

#include "repo/repo.h"

/*
 * enrolment - makes the user a signer of this repository. The user's public key is added to
 * .klineage/allowed_signers in the worktree, and klineage.sign is set, so that events are signed.
 * The key counts only once it is on the base branch (signers.h), so whoever accepts that commit
 * decides about the key.
 */
struct kl_enrolment {
	char *who;  /* the principal: the user's mail address */
	char *base; /* value of klineage.signers; NULL if not set, because there is no branch yet */
	bool added; /* the key was added; false if the list already had it */
};

/**
 * Enrol the user: make a signature as a test, add the key to the list, and set klineage.sign and,
 * if it is not set, klineage.signers. Return KL_ECANNOT if there is no usable key or address;
 * nothing is changed. Return KL_EINVALID if the repository is bare, .klineage is not a directory,
 * or the list in it is not a regular file.
 */
int kl_enrol(struct kl_enrolment *out, struct kl_repo *repo);
void kl_enrolment_release(struct kl_enrolment *enrolment);

/**
 * Return true if enrolment can be offered: git is configured to sign with an SSH key, klineage.sign
 * is not set, and there is a worktree.
 */
bool kl_enrolment_is_open(struct kl_repo *repo);

#endif
