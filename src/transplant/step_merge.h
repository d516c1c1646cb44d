/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TRANSPLANT_STEP_MERGE_H
#define KL_TRANSPLANT_STEP_MERGE_H

#include "contract/surface.h"

/*
 * step_merge - merges the change of a step into another state, three-way, source by source. To put
 * a step in, merge from K_{i-1} to K_i; to undo it, merge from K_i to K_{i-1}.
 */

/**
 * Merge the change from `before` to `after` into `state`. Return KL_ENO if the step does not merge.
 * The message names the source whose changes conflict. If the change is there already, the result
 * equals `state`. A merge says nothing about correctness: the result is to be judged.
 */
int kl_step_merge(struct kl_surface **out, struct kl_repo *repo, const struct kl_surface *before,
		  const struct kl_surface *after, const struct kl_surface *state);

#endif
