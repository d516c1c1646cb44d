/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_DERIVE_H
#define KL_WALK_DERIVE_H

#include "walk/sequencer.h"

/*
 * derive - re-derives an accepted step for the sequencer: a model that sees K_{i-1} but not K_i
 * (rewrite/rederive.h) proposes tau_i, which is judged against K_i. A success becomes a commit K_i'
 * on the walk's K_{i-1}; a failure is kept as a rejected forward step.
 *
 * The backward step stays accepted in either case. Errors of the model (the network, a server's
 * message) end the run, as errors of the gate do, and --continue asks again.
 */

/** Ask for the next attempt. If the budget does not allow it, no step is re-derived any more. */
int kl_derive_ask(struct kl_sequencer *sequencer);
/** Judge the attempt. 0, KL_JUDGE_LATER (judge.h), or an error. */
int kl_derive_judge(struct kl_sequencer *sequencer);
/** Do not re-derive the step; recorded as "skipped". */
int kl_derive_skip(struct kl_sequencer *sequencer);

#endif
