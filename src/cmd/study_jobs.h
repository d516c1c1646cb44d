/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_STUDY_JOBS_H
#define KL_CMD_STUDY_JOBS_H

#include "study/study.h"

/*
 * study_jobs - runs the cells of a study, each in a process of its own: `git klineage study run
 * --cell <id>`. A cell that fails or is killed leaves the others as they are.
 */
#define KL_STUDY_JOBS 256

struct kl_study_jobs {
	struct kl_repo *repo;
	const struct kl_study *study;
	int64_t jobs;                          /* number of cells to run at once */
	const char *task, *policy;             /* run only the cells of these; NULL: all */
	const char *command, *jail, *platform; /* as in struct kl_running */
};

/**
 * Run all cells that have not ended, seeds first. KL_ENO: some are not done, for example because
 * the model does not answer; KL_ECANNOT: kernels cannot be judged here; KL_EBUSY: another process
 * runs this study.
 */
int kl_study_jobs_run(const struct kl_study_jobs *jobs);

#endif
