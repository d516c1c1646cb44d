/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_STUDY_REPLAY_H
#define KL_STUDY_REPLAY_H

#include "study/standing.h"

/*
 * replay - checks the cells of a study without a model or a device: from the stored observations
 * each policy must propose the same tickets again, and each observation must agree with the gate's
 * event (search/cell_check.h); setup, root and end must be those of the study.
 */

/**
 * Check a cell; add the number of its tickets to *tickets. KL_EINVALID: it is wrong; the message
 * names the cell and the ticket. KL_ENOTFOUND: an event or a kernel is not in this repository.
 */
int kl_replay_cell(size_t *tickets, struct kl_repo *repo, const struct kl_study *study,
		   const struct kl_study_cell *cell);

#endif
