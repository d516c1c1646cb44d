/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_PUSH_CHECK_H
#define KL_EVENT_PUSH_CHECK_H

#include "base/vec.h"
#include "repo/repo.h"

/*
 * push_check - checks the verdicts of commits about to be pushed. Reports which commits have notes,
 * and which add a kernel that was not judged or has failed. Verdicts are looked up by surface, in
 * all notes and in this clone's cache, so a commit that a merge or rebase makes needs no new
 * verdicts if its kernels were judged before.
 */
enum kl_push_need {
	KL_PUSH_NEEDS_NOTHING,
	KL_PUSH_NEEDS_CHECK, /* a pass of the quick stages is enough */
	KL_PUSH_NEEDS_GATE,  /* a pass of the whole gate is needed */
};

struct kl_push_check {
	size_t noted; /* number of commits that have gate notes */
	/* "<commit> <workload>: <what is wrong>", oldest first; then events with a bad signature */
	struct kl_strvec missing;
};

/**
 * Check the commits. `base` is the commit to read the repository's list of signers from, or NULL
 * for the commit that klineage.signers names (push_base.h).
 */
int kl_push_check(struct kl_push_check *out, struct kl_repo *repo, const git_oid *commit, size_t n,
		  enum kl_push_need want, const git_oid *base);
void kl_push_check_release(struct kl_push_check *push_check);

#endif
