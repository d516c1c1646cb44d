/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_FOLD_H
#define KL_WALK_FOLD_H

#include "walk/sequencer.h"

/*
 * fold - folds older states that change nothing (effect.h) into the neighbouring steps.
 *
 * A state of `history` that is no faster or slower than K_i is rejected with the class "no-effect",
 * and the next older state is compared with K_i again: small changes of speed add up until they
 * show. The step that is accepted then takes back the folded commits along with its own and names
 * them in Klineage-Folded. With `keep_all` in the operation nothing is folded. Never folded are the
 * steps of other rewriters; the parts of a compound step, because they tell its mechanisms apart;
 * and commits whose author names a mechanism, because such a commit can prepare another mechanism
 * without a gain of its own.
 */

/** Return true if the pending proposal is to be folded, according to its event. */
bool kl_fold_is_due(const struct kl_sequencer *sequencer, const struct kl_event *event);
/**
 * Measure the pending proposal again, at most twice, if noise hides whether it is to be folded, or
 * leaves no figure for the step (kl_speed_is_useless). Replaces *judgement.
 */
int kl_fold_measure(struct kl_judgement **judgement, struct kl_sequencer *sequencer);

/**
 * Fold the states of no effect that are older than K_i into the step that led to K_i: if the oldest
 * of them differs in speed from the state before that step, it takes the place of K_i, and *done
 * becomes true. Nothing is changed if steps of the walk are re-derived, or if the judge defers its
 * verdict.
 */
int kl_fold_trail(bool *done, struct kl_sequencer *sequencer);

#endif
