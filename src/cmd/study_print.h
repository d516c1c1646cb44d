/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_STUDY_PRINT_H
#define KL_CMD_STUDY_PRINT_H

#include "cmd/cli/listing.h"
#include "study/standing.h"

/* study_print - prints what a study would do and what its cells have done */

/**
 * Print, before money flows, how large a study is, what it may cost, what it can tell apart, and
 * what its policies cannot do within the budget.
 */
void kl_study_print_start(const struct kl_study *study, bool json, bool dry);
/** Print a line for each policy: how many cells have ended, what was spent, the mean speed. */
int kl_study_print_status(const struct kl_study *study, struct kl_repo *repo, bool json);
/** Print a line for each cell, in the order in which cells are run. */
int kl_study_print_cells(const struct kl_study *study, struct kl_repo *repo,
			 const struct kl_listing *listing);
/** Print the line of a cell that has just been run. */
int kl_study_print_cell(const struct kl_study *study, struct kl_repo *repo,
			const struct kl_study_cell *cell);

#endif
