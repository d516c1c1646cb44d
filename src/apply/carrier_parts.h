/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_CARRIER_PARTS_H
#define KL_APPLY_CARRIER_PARTS_H

#include "apply/carrier.h"

/* carrier_parts - structures and functions shared by the carrier files. Inside src/apply only. */

/** The sources that a carrier changes, each with its new text. */
struct kl_carrier_edits {
	struct kl_file *v;
	size_t n, alloc;
};

/** Add the new text of a source, unless it equals the old text. Takes the content of `text`. */
void kl_carrier_add_edit(struct kl_carrier_edits *edits, const struct kl_file *file,
			 struct kl_buf *text);
/** Set fit[i] to the share of the lines needed by diff i that the sources have, in millionths. */
void kl_carrier_fit_diffs(int64_t *fit, const struct kl_surface *state,
			  const struct kl_card_carrier *const *diff, size_t n);
/**
 * Apply a diff, and set *how to a constant text. Return KL_ENO, with the reason in the message, if
 * a file of the diff matches no source.
 */
int kl_carrier_apply_diff(struct kl_carrier_edits *out, const char **how,
			  const struct kl_carrier_try *try, const struct kl_card_carrier *carrier);

#endif
