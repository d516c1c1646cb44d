/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_CARD_MERGE_H
#define KL_CARD_CARD_MERGE_H

#include "card/card.h"

/*
 * card_merge - merges two versions of one card, field by field.
 *
 *  - evidence, effect rows, ver: the union by row id. Nothing that was measured is ever dropped,
 *  and
 *    merging in another order gives the same bytes.
 *  - risk, pre, carriers, find, lists: three-way by key, where the events of a risk unite.
 *  - texts (intent, construct, ...): the side that changed them. Both did, differently: the greater
 *  text
 *    (bytewise) stays, so that everybody's merge keeps the same one, and the field is named in
 *    `both`.
 *
 * `base` NULL: there is no common version; then whatever differs counts as changed on both sides.
 */
int kl_card_merge(struct kl_card **out, struct kl_strvec *both, const struct kl_card *base,
		  const struct kl_card *ours, const struct kl_card *theirs);

/**
 * What git's merge driver calls: three files' texts to one, cards or copies of an event. KL_ENO:
 * merged, but texts of both sides differed (kl_error_last names them); `out` is the merge all the
 * same.
 */
int kl_card_merge_text(struct kl_buf *out, const char *name, const struct kl_buf *base,
		       const struct kl_buf *ours, const struct kl_buf *theirs);

#endif
