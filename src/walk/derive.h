/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_DERIVE_H
#define KL_WALK_DERIVE_H

#include "walk/sequencer.h"

/*
 * derive - has an accepted step derived anew, for the sequencer: tau_i, by a model that sees
 * K_{i-1} and not K_i (rewrite/rederive.h), judged against K_i. What holds is a commit K_i' on the
 * walk's K_{i-1}; what does not is kept among the rejected, forward.
 *
 * The step stands whatever becomes of it. Errors of the model (the network, a server's message) end
 * the run, as those of the gate do, and --continue asks again.
 */

/** Ask for the next attempt; a budget that does not allow it ends all deriving of this walk. */
int kl_derive_ask(struct kl_sequencer *sequencer);
/** Judge it. 0, KL_JUDGE_LATER (judge.h), or an error. */
int kl_derive_judge(struct kl_sequencer *sequencer);
/** Leave the step as it is, recorded as "skipped". */
int kl_derive_skip(struct kl_sequencer *sequencer);

#endif
