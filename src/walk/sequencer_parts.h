/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_SEQUENCER_PARTS_H
#define KL_WALK_SEQUENCER_PARTS_H

#include "walk/sequencer.h"

/*
 * sequencer_parts - functions shared by the files of the sequencer: starting and resuming an
 * operation (sequencer_start.c), asking for proposals (sequencer_ask.c), reporting a run
 * (outcome.c).
 */

/** Lock the operation of the worktree for this process. KL_EBUSY: another process holds it. */
int kl_sequencer_enter(struct kl_sequencer *sequencer);
/** Save the operation durably; `what` is for the reflog. */
int kl_sequencer_save(struct kl_sequencer *sequencer, const char *what);
/** End the walk with this termination and save it; the refs are still to be written. */
int kl_sequencer_end(struct kl_sequencer *sequencer, const char *termination);

/** Point `sequencer->rw` at the current state, for the rewriters. */
int kl_sequencer_aim(struct kl_sequencer *sequencer);
/** Make the proposal pending, to be judged next; takes its candidate. */
int kl_sequencer_propose(struct kl_sequencer *sequencer, struct kl_proposal *proposal);

/** Fill in the verdicts of this run, and the names, termination and counts of the walk. */
void kl_outcome_fill(struct kl_outcome *out, struct kl_sequencer *sequencer);

#endif
