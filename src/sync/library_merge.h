/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SYNC_LIBRARY_MERGE_H
#define KL_SYNC_LIBRARY_MERGE_H

#include "card/library.h"

/*
 * library_merge - merges two tips of a library, card by card, in memory (card_merge.h). The result
 * is that of `git merge` with the merge driver, but the remote's side ("theirs") is not trusted.
 *
 * All cards that the remote's side changed must be valid, and every event that these cards cite
 * must be present and match its id; otherwise nothing of theirs is taken. The merge returns
 * KL_EINVALID if a card (named in the message) or an event is invalid, an event is missing, or
 * their history does not start at the common root of all libraries. It returns KL_ECANNOT if a card
 * has a newer schema. Cards and events that they deleted are kept here, and so are the measured
 * values in our cards, even where their cards have other values.
 */
struct kl_library_merged {
	size_t added, changed; /* number of cards that were added or changed */
	struct kl_strvec both; /* "<card>: <fields>": fields that both sides changed differently */
};

/**
 * Merge `theirs` into `ours` (zero if there is no library here yet). Set *tip to `ours` if `ours`
 * contains `theirs`; to `theirs` if `theirs` contains `ours` and has the merged tree; otherwise to
 * a new commit with both as parents (with only `theirs` if `ours` is zero). Moves no ref.
 */
int kl_library_merge(git_oid *tip, struct kl_library_merged *done, struct kl_repo *repo,
		     const git_oid *ours, const git_oid *theirs);
void kl_library_merged_release(struct kl_library_merged *merged);

#endif
