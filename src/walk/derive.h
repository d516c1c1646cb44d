/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_DERIVE_H
#define KL_WALK_DERIVE_H

#include "walk/sequencer.h"

/*
 * derive - re-derives an accepted step for the sequencer: a model that sees K_{i-1} but not K_i
 * (rewrite/rederive.h) proposes an edit of K_{i-1}, whose result K_i' is judged against K_i. On a
 * success K_i' is committed on the walk's K_{i-1}; a failure is kept as a rejected forward step.
 *
 * The backward step stays accepted in either case. If the budget is spent or a recording lacks the
 * reply, the step is not re-derived; a timeout is a failed attempt. Any other error of the model
 * (of the network or the server) ends the run, as an error of the gate does, and --continue asks
 * again.
 */

/**
 * Ask the rewriter for the next attempt. If the budget does not allow it, neither this step nor any
 * later one is re-derived.
 */
int kl_derive_ask(struct kl_sequencer *sequencer);
/** Judge the attempt. Return 0, KL_JUDGE_LATER (judge.h) or an error. */
int kl_derive_judge(struct kl_sequencer *sequencer);
/** Give up re-deriving the step; its record gets an attempt of class "skipped". */
int kl_derive_skip(struct kl_sequencer *sequencer);

#endif
