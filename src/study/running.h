/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_STUDY_RUNNING_H
#define KL_STUDY_RUNNING_H

#include "study/standing.h"

/*
 * running - runs one cell of a study in this process, and records its end.
 *
 * What was killed is run again: the search goes on where it was (search/cell.h), and a search that
 * had ended, but whose end was not recorded, asks and judges nothing more.
 */
struct kl_running {
	struct kl_repo *repo;
	const struct kl_study *study;
	const struct kl_study_cell *cell;
	const char *command;         /* of provider `exec`; NULL: klineage.chat.exec */
	const char *jail, *platform; /* of the gate; NULL: as configured */
	struct kl_progress *progress;
};

/**
 * Run a cell until it ends; do nothing if it has ended already. KL_ETIMEOUT: the model does not
 * answer, so the cell is to be run again later. KL_EINVALID: its root fails the gate. Other errors
 * are those of kl_cell_run().
 */
int kl_running_cell(const struct kl_running *running);

#endif
