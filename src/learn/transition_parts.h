/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_TRANSITION_PARTS_H
#define KL_LEARN_TRANSITION_PARTS_H

#include "learn/transition.h"

/* transition_parts - functions shared by the transition files. Inside src/learn only. */

/**
 * Set `requires` and `conflicts` of the loaded transitions of a lineage from its transplants
 * (transplant/relations.h). Does nothing if there are none. Judges nothing.
 */
int kl_transition_relations(struct kl_transitions *transitions, struct kl_repo *repo,
			    const char *workload, const char *name);

#endif
