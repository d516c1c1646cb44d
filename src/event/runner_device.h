/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_RUNNER_DEVICE_H
#define KL_EVENT_RUNNER_DEVICE_H

#include "repo/repo.h"
#include "text/digest.h"

/*
 * runner_device - the device that a runner judges on, as its last result names it: one GPU's
 * verdict is none of another's, and which one it will be is not known before.
 * $GIT_COMMON_DIR/klineage/runners/<digest of runner and platform>.json
 * (docs/formats.md, "Bundles and results").
 *
 *	kl_runner_device_get(&device, repo, "bundle", "cuda/sm_90");
 *	kl_runner_device_key(hex, &device);		before: where verdicts are looked for
 *	kl_runner_device_put(repo, "bundle", "cuda/sm_90", &device);
 *	kl_runner_device_key(hex, &device);		after: where this one is kept
 */
#define KL_RUNNER_DEVICE_WORDS 201 /* with the NUL */

struct kl_runner_device {
	char device[KL_RUNNER_DEVICE_WORDS], driver[KL_RUNNER_DEVICE_WORDS]; /* "": not told */
};

/** Both "" where nothing was told, or what is there is damaged. */
void kl_runner_device_get(struct kl_runner_device *out, struct kl_repo *repo, const char *runner,
			  const char *platform);
/** Durable when it returns. */
int kl_runner_device_put(struct kl_repo *repo, const char *runner, const char *platform,
			 const struct kl_runner_device *runner_device);
/** A key that does not know the device becomes one that does; where nothing was told it stays. */
void kl_runner_device_key(char hex[KL_DIGEST_HEX], const struct kl_runner_device *runner_device);

#endif
