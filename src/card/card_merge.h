/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_CARD_MERGE_H
#define KL_CARD_CARD_MERGE_H

#include "card/card.h"

/*
 * card_merge - merges two versions of one card, field by field.
 *
 *  - evidence, effect rows, ver: the union by row id. No measurement is ever dropped, and merging
 *    in another order gives the same bytes.
 *  - risk, pre, carriers, find, lists: three-way merge by key; the events of a risk are united.
 *  - texts (intent, construct, ...): from the side that changed them. If both did, differently, the
 *    bytewise greater text stays, so that the result does not depend on the side, and the field is
 *    added to `both` (may be NULL).
 *
 * Without a common version `base` is NULL and every difference counts as a change of both sides.
 * KL_EINVALID: the ids differ. The caller frees *out.
 */
int kl_card_merge(struct kl_card **out, struct kl_strvec *both, const struct kl_card *base,
		  const struct kl_card *ours, const struct kl_card *theirs);

/**
 * Merge the texts of three files, cards or copies of an event, for git's merge driver. KL_ENO: both
 * sides changed a field (kl_error_last names all such fields); `out` still gets the merge.
 * KL_EINVALID: a side cannot be read, or the two sides have different ids.
 */
int kl_card_merge_text(struct kl_buf *out, const char *name, const struct kl_buf *base,
		       const struct kl_buf *ours, const struct kl_buf *theirs);

#endif
