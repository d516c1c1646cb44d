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
 * them in Klineage-Folded. With `keep_all` in the operation nothing is folded. The steps of other
 * rewriters never are, nor are the parts of a compound step, which tell its mechanisms apart, nor
 * commits whose author names a mechanism, which can make room for another without any gain.
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
 * of them differs in speed from the state before that step, it takes the place of K_i. *done
 * becomes true if it does. A step that a model re-derived is left alone, and so is the walk if the
 * judge defers its verdict.
 */
int kl_fold_trail(bool *done, struct kl_sequencer *sequencer);

#endif
