/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_SPECULATE_H
#define KL_WALK_SPECULATE_H

#include "walk/sequencer.h"

/*
 * speculate - finds the jobs that a walk will need next. A dry copy of the walk continues by the
 * sequencer's own functions. Where a verdict is missing, the copy continues twice: as after a pass
 * and as after a fail, the likelier case first. Each missing verdict adds a job to the bundle, so
 * that a walk with a remote gate stops once for many candidates, not once for each.
 *
 * Moves no refs and leaves only unreachable git objects. Does not ask the user.
 */

/**
 * Collect up to `sequencer->most_jobs` jobs. For each, append {surface, action, locus, rewriter,
 * alternative} to `candidates`. `alternative` is true if the candidate is needed only if another
 * one is rejected.
 */
int kl_speculate(json_t *candidates, struct kl_sequencer *sequencer);

#endif
