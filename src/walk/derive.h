/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_DERIVE_H
#define KL_WALK_DERIVE_H

#include "walk/sequencer.h"

/*
 * derive - re-derives an accepted step for the sequencer. A model that sees K_{i-1} but not K_i
 * (rewrite/rederive.h) proposes an edit of K_{i-1}; the result K_i' is judged against K_i. If K_i'
 * passes, it is committed on the walk's K_{i-1}; if not, it is kept as a rejected forward step.
 *
 * The backward step stays accepted in either case. If the budget is spent or a recording lacks the
 * reply, the step is not re-derived. A timeout is a failed attempt. Any other error, of the model
 * or of the gate, ends the run; --continue then asks again.
 */

/**
 * Ask the rewriter for the next attempt. If the budget does not allow that, neither this step nor
 * any later one is re-derived.
 */
int kl_derive_ask(struct kl_sequencer *sequencer);
/** Judge the attempt. Return 0, KL_JUDGE_LATER (judge.h) or an error. */
int kl_derive_judge(struct kl_sequencer *sequencer);
/** Give up re-deriving the step, and record an attempt of class "skipped" for it. */
int kl_derive_skip(struct kl_sequencer *sequencer);

#endif
