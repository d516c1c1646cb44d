/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SYNC_LIBRARY_MERGE_H
#define KL_SYNC_LIBRARY_MERGE_H

#include "card/library.h"

/*
 * library_merge - merges two tips of a library, card by card, in memory (card_merge.h): what
 * `git merge` with the merge driver would do, but theirs is not believed.
 *
 * Every card of theirs that differs must be right, and every event that it cites must be with it
 * and true to its id; else nothing of theirs is taken: KL_EINVALID names the card, KL_ECANNOT a
 * newer one's schema. A card or event that is gone there stays here, and what was measured stays
 * in a card, whatever theirs makes of it. A library that does not begin at the root of all is
 * none.
 */
struct kl_library_merged {
	size_t added, changed; /* cards */
	struct kl_strvec both; /* "<card>: <fields>" that both sides changed, differently */
};

/**
 * `*tip`: ours if it has all of theirs; theirs if that is what comes of it; else a new commit
 * with both as parents. `ours` zero: none yet. Moves no ref.
 */
int kl_library_merge(git_oid *tip, struct kl_library_merged *done, struct kl_repo *repo,
		     const git_oid *ours, const git_oid *theirs);
void kl_library_merged_release(struct kl_library_merged *merged);

#endif
