/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_PUSH_BASE_H
#define KL_EVENT_PUSH_BASE_H

#include "repo/repo.h"

/*
 * push_base - finds the commit whose list of signers counts for a push. Normally this is the tip of
 * the branch that klineage.signers names (signers.h). But if that branch has commits that are about
 * to be pushed and that change the list, their author could have added a key for them. Then it is
 * the commit that the remote has of the pushed ref.
 */
struct kl_push_ref {
	git_oid local;  /* commit to push */
	git_oid remote; /* commit that the remote has now; zero: none */
};

/**
 * Set *own if the pushed commits change the list themselves, and `*base` to the commit to read it
 * from in that case. `commit`: the commits that the remote lacks. A push of a whole history has no
 * base, and sets *own to false.
 */
int kl_push_base(bool *own, git_oid *base, struct kl_repo *repo, const struct kl_push_ref *ref,
		 size_t nref, const git_oid *commit, size_t n);

#endif
