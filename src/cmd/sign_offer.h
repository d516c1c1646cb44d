/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_SIGN_OFFER_H
#define KL_CMD_SIGN_OFFER_H

struct kl_repo;

/* sign_offer - offers to sign verdicts, and sets up signing on request, for `init` and `hooks`. */

/**
 * Print how to sign here, if the user has an SSH key for signing and has not yet decided whether to
 * sign.
 */
void kl_sign_offer(struct kl_repo *repo);
/** Make the user a signer of this repository (event/enrolment.h), and print what is left to do. */
int kl_sign_set_up(struct kl_repo *repo);

#endif
