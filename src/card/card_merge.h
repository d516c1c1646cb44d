/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_CARD_MERGE_H
#define KL_CARD_CARD_MERGE_H

#include "card/card.h"

/*
 * card_merge - merges two versions of one card, field by field.
 *
 *  - evidence, effect rows, ver: all rows of both sides, united by id. No measurement is ever
 *    dropped, and the order of merges does not change the result.
 *  - risk, pre, carriers, find, lists: three-way merge by key; the events of a risk are united.
 *  - texts (intent, construct, ...): taken from the side that changed them. If both sides made
 *    different changes, the bytewise greater text is taken, so that both sides get the same result,
 *    and the name of the field is added to `both` (may be NULL).
 *
 * `base` is NULL if there is no common version; every difference then counts as changed by both.
 * Return KL_EINVALID if the ids differ. The caller frees *out.
 */
int kl_card_merge(struct kl_card **out, struct kl_strvec *both, const struct kl_card *base,
		  const struct kl_card *ours, const struct kl_card *theirs);

/**
 * Merge the texts of three files, cards or copies of an event, for git's merge driver. Return
 * KL_ENO if both sides changed the same field in different ways (kl_error_last() names all such
 * fields); `out` gets the merge nevertheless. Return KL_EINVALID if a side cannot be read, or the
 * two sides have different ids.
 */
int kl_card_merge_text(struct kl_buf *out, const char *name, const struct kl_buf *base,
		       const struct kl_buf *ours, const struct kl_buf *theirs);

#endif
