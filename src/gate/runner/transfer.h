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
	bool waiting;             /* the user must take `file` to a worker */
	char *file, *digest;      /* path and name of the bundle; NULL: none */
	size_t jobs;              /* sent */
	char *command;            /* for `file`: the command to run at the worker */
	size_t imported, refused; /* results that were received over ssh */
	/* reason of the first job that the worker could not judge; NULL: none */
	char *why;
};
void kl_transfer_release(struct kl_transfer *sent);

/**
 * Record every job durably, then send the bundle. `path` is the file to write; NULL:
 * $GIT_COMMON_DIR/klineage/bundles/<digest>.tar. An empty bundle is not sent: returns 0, without a
 * file. KL_ECANNOT: no worker could judge it; results received until then are kept.
 */
int kl_transfer_send(struct kl_transfer *out, const struct kl_bundle *bundle,
		     const struct kl_runner *runner, struct kl_repo *repo, const char *path,
		     struct kl_progress *progress);

#endif
