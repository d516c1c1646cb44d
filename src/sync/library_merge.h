/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SYNC_LIBRARY_MERGE_H
#define KL_SYNC_LIBRARY_MERGE_H

#include "card/library.h"

/*
 * library_merge - merges two tips of a library, card by card, in memory (card_merge.h). The result
 * is that of `git merge` with the merge driver, but their side is not trusted.
 *
 * All cards that they changed must be valid, and every event that these cite must be present and
 * match its id; otherwise nothing of theirs is taken. KL_EINVALID: a card (named in the message) or
 * an event is invalid, an event is missing, or their history does not start at the common root of
 * all libraries. KL_ECANNOT: a card has a newer schema. Cards and events that they deleted are
 * kept, as are the measured values in a card, even if their side changed these.
 */
struct kl_library_merged {
	size_t added, changed; /* cards */
	struct kl_strvec both; /* "<card>: <fields>": fields that both sides changed differently */
};

/**
 * Merge `theirs` into `ours` (zero: no library here yet). `*tip` is ours if it contains theirs;
 * theirs if that has the merged tree and contains ours; otherwise a new commit with both as parents
 * (without ours if it is zero). Does not move a ref.
 */
int kl_library_merge(git_oid *tip, struct kl_library_merged *done, struct kl_repo *repo,
		     const git_oid *ours, const git_oid *theirs);
void kl_library_merged_release(struct kl_library_merged *merged);

#endif
