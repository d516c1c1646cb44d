/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_PUSH_CHECK_H
#define KL_EVENT_PUSH_CHECK_H

#include "base/vec.h"
#include "repo/repo.h"

/*
 * push_check - checks the verdicts of commits about to be pushed: which of them bear notes, and
 * which bring a kernel that nobody has judged, or that has failed. A verdict is looked for by what
 * was judged, in every note and in this clone's cache: a merge or a rebase needs none of its own.
 */
enum kl_pushed_want {
	KL_PUSHED_NOTHING,
	KL_PUSHED_CHECK, /* the quick stages are enough */
	KL_PUSHED_GATE,  /* a pass of the whole gate */
};

struct kl_pushed {
	size_t noted; /* commits that bear gate notes */
	/*
	 * "<commit> <workload>: <what is wrong>", oldest first; then events with a wrong signature
	 */
	struct kl_strvec missing;
};

int kl_pushed_look(struct kl_pushed *out, struct kl_repo *repo, const git_oid *commit, size_t n,
		   enum kl_pushed_want want);
void kl_pushed_release(struct kl_pushed *pushed);

#endif
