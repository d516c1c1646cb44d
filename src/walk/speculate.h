/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_SPECULATE_H
#define KL_WALK_SPECULATE_H

#include "walk/sequencer.h"

/*
 * speculate - finds the jobs that a walk will need next, while its gate is away: it is walked on
 * dry, by the sequencer's own steps, once as if the verdict that is missing were a pass and once
 * as if it were a fail, the likelier way first. Each verdict that is missing on the way is a job
 * more for the bundle. So a walk over a gate that is far away stops once for many candidates, not
 * once for each.
 *
 * Nothing moves and nothing is kept but objects of git that nobody refers to. A person is not
 * asked.
 */

/**
 * Until `sequencer->most_jobs` are collected, or nothing is left to think of. `candidates` gets
 * {surface, action, locus, rewriter, alternative} of each; alternative: asked for only if another
 * is rejected.
 */
int kl_speculate(json_t *candidates, struct kl_sequencer *sequencer);

#endif
