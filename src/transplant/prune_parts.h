/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TRANSPLANT_PRUNE_PARTS_H
#define KL_TRANSPLANT_PRUNE_PARTS_H

#include "transplant/prune.h"

/* prune_parts - functions shared by the files of prune. Inside src/transplant only. */

bool kl_prune_has_undone(const struct kl_prune *prune, size_t step);
/**
 * Make K_`place` with the undone steps up to `place` undone. Errors are those of kl_step_merge().
 */
int kl_prune_state(struct kl_surface **out, struct kl_repo *repo, const struct kl_prune *prune,
		   const struct kl_transplant *transplant, size_t place);
/**
 * Judge the states of the pruned lineage and write it, with its events, in one transaction. Sets
 * `tip`, `states` and `already`. Does nothing if the deadline passes.
 */
int kl_prune_write(struct kl_prune *prune, struct kl_transplant *transplant, struct kl_repo *repo,
		   const struct kl_prune_opts *opts);

#endif
