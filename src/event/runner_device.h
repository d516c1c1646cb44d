/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_RUNNER_DEVICE_H
#define KL_EVENT_RUNNER_DEVICE_H

#include "repo/repo.h"
#include "text/digest.h"

/*
 * runner_device - remembers the device that each runner last reported. A verdict is valid only for
 * the GPU that it was reached on, and a runner's GPU is not known in advance. The device is stored
 * in $GIT_COMMON_DIR/klineage/runners/<digest of runner and platform>.json (docs/formats.md,
 * "Bundles and results").
 *
 *	kl_runner_device_get(&device, repo, "bundle", "cuda/sm_90");
 *	kl_runner_device_key(hex, &device);		before a run: key to look up a verdict
 *	kl_runner_device_put(repo, "bundle", "cuda/sm_90", &device);
 *	kl_runner_device_key(hex, &device);		after a run: key to store the verdict
 */
#define KL_RUNNER_DEVICE_WORDS 201 /* maximum number of bytes of a string, with its NUL */

struct kl_runner_device {
	char device[KL_RUNNER_DEVICE_WORDS], driver[KL_RUNNER_DEVICE_WORDS]; /* "" if unknown */
};

/** Read the last reported device; both strings are "" if there is none or the file is damaged. */
void kl_runner_device_get(struct kl_runner_device *out, struct kl_repo *repo, const char *runner,
			  const char *platform);
/** Store a reported device. It is on disk when this returns. */
int kl_runner_device_put(struct kl_repo *repo, const char *runner, const char *platform,
			 const struct kl_runner_device *device);
/** Add the device to a cache key's digest; the digest is unchanged if the device is unknown. */
void kl_runner_device_key(char hex[KL_DIGEST_HEX], const struct kl_runner_device *device);

#endif
