/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_PUSH_BASE_H
#define KL_EVENT_PUSH_BASE_H

#include "repo/repo.h"

/*
 * push_base - finds the commit whose list of signers counts for a push. Normally this is the tip of
 * the branch that klineage.signers names (signers.h). But if that branch has commits that are about
 * to be pushed and that change the list, the author of these commits could have added a key of
 * their own. Then the list is read at the commit that the remote has for the pushed ref.
 */
struct kl_push_ref {
	git_oid local;  /* commit to push */
	git_oid remote; /* commit that the remote has now; zero if there is none */
};

/**
 * Set *own to true if the pushed commits themselves change the list; if so, set *base to the commit
 * to read the list from. `commit` has the commits that the remote lacks. If a whole history is
 * pushed, there is no such base, and *own is false.
 */
int kl_push_base(bool *own, git_oid *base, struct kl_repo *repo, const struct kl_push_ref *ref,
		 size_t nref, const git_oid *commit, size_t n);

#endif
