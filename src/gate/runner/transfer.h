/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_RUNNER_TRANSFER_H
#define KL_GATE_RUNNER_TRANSFER_H

#include "base/progress.h"
#include "gate/runner/runner.h"
#include "repo/repo.h"

struct kl_bundle; /* gate/runner/bundle.h */

/*
 * transfer - sends a bundle off: to a file that a person carries, or over ssh and back.
 */
struct kl_parcel {
	bool waiting;        /* a person is to take `file` to a worker */
	char *file, *digest; /* NULL: there is none */
	size_t jobs;
	char *command;            /* what to run there */
	size_t imported, refused; /* of results that came back at once */
	/* of the first that could not be judged there; NULL: none */
	char *why;
};
void kl_parcel_release(struct kl_parcel *parcel);

/**
 * Every job is remembered durably, then the bundle leaves. `path`: where to; NULL:
 * $GIT_COMMON_DIR/klineage/bundles/<digest>.tar. An empty bundle: 0, and no file. KL_ECANNOT:
 * nobody could judge it; results that came back until then are kept.
 */
int kl_parcel_send(struct kl_parcel *out, const struct kl_bundle *bundle,
		   const struct kl_runner *runner, struct kl_repo *repo, const char *path,
		   struct kl_progress *progress);

#endif
