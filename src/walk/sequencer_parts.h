/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_SEQUENCER_PARTS_H
#define KL_WALK_SEQUENCER_PARTS_H

#include "walk/sequencer.h"

/*
 * sequencer_parts - functions shared by the files of the sequencer: starting and resuming an
 * operation (sequencer_start.c), asking for proposals (sequencer_ask.c), reporting a run
 * (outcome.c).
 */

/**
 * Lock the operation of the worktree for this process. Return KL_EBUSY if another process holds the
 * lock.
 */
int kl_sequencer_enter(struct kl_sequencer *sequencer);
/** Save the operation; `what` describes the change in the reflog. */
int kl_sequencer_save(struct kl_sequencer *sequencer, const char *what);
/** End the walk with this termination and save it. The refs are written later (finish.h). */
int kl_sequencer_end(struct kl_sequencer *sequencer, const char *termination);

/** Fill in `sequencer->rw`, by which the rewriters read the current state. */
int kl_sequencer_aim(struct kl_sequencer *sequencer);
/** Make the proposal the pending one, to be judged next. Takes over its candidate. */
int kl_sequencer_propose(struct kl_sequencer *sequencer, struct kl_proposal *proposal);

/**
 * Set *out to true if the pending proposal takes back several commits, one of which can be proposed
 * alone.
 */
int kl_sequencer_has_commit(bool *out, struct kl_sequencer *sequencer);

/** Fill in the verdicts of this run, and the names, termination and counts of the walk. */
void kl_outcome_fill(struct kl_outcome *out, struct kl_sequencer *sequencer);

#endif
