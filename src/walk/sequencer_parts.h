/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_SEQUENCER_PARTS_H
#define KL_WALK_SEQUENCER_PARTS_H

#include "walk/sequencer.h"

/*
 * sequencer_parts - the parts of sequencer.c: how an operation begins or is taken up again
 * (sequencer_start.c), what is proposed to it and by whom (sequencer_ask.c), what its caller is
 * told of a run (outcome.c).
 */

/** One process at a time works on the operation of a worktree: KL_EBUSY, another one does. */
int kl_sequencer_enter(struct kl_sequencer *sequencer);
/** The state as it is now, durable; `what` is for the reflog. */
int kl_sequencer_save(struct kl_sequencer *sequencer, const char *what);
/** The walk's own end, saved: finishing is what is left. */
int kl_sequencer_end(struct kl_sequencer *sequencer, const char *termination);

/** The rewriters see the state as it is now. */
int kl_sequencer_aim(struct kl_sequencer *sequencer);
/** Takes the proposal's candidate: it is to be judged next. */
int kl_sequencer_propose(struct kl_sequencer *sequencer, struct kl_proposal *proposal);

/** What this run has judged, and where the walk stands. */
void kl_outcome_fill(struct kl_outcome *out, struct kl_sequencer *sequencer);

#endif
