/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_RUNNER_TRANSFER_H
#define KL_GATE_RUNNER_TRANSFER_H

#include "base/progress.h"
#include "gate/runner/runner.h"
#include "repo/repo.h"

struct kl_bundle; /* gate/runner/bundle.h */

/*
 * transfer - sends a bundle: writes it to a file for the user, or sends it over ssh and imports the
 * results.
 */

/* The outcome of sending a bundle. */
struct kl_transfer {
	bool waiting; /* the user must take `file` to a worker */
	/* path of the file, or NULL if none was written; digest that names the bundle */
	char *file, *digest;
	size_t jobs;              /* number of jobs in the bundle */
	char *command;            /* the command to run where the worker is; NULL without `file` */
	size_t imported, refused; /* numbers of results that were received over ssh */
	/* why the worker did not judge a job, the first of these; NULL if it judged all jobs */
	char *why;
};
void kl_transfer_release(struct kl_transfer *sent);

/**
 * Write a record of every job to disk, then send the bundle. `path` is the file to write; NULL for
 * $GIT_COMMON_DIR/klineage/bundles/<digest>.tar. If the bundle is empty, do nothing and return 0.
 * Return KL_ECANNOT if the connection or the worker failed, or if results were invalid; the valid
 * results that were received are imported.
 */
int kl_transfer_send(struct kl_transfer *out, const struct kl_bundle *bundle,
		     const struct kl_runner *runner, struct kl_repo *repo, const char *path,
		     struct kl_progress *progress);

#endif
