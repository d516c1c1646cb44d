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
 *	kl_told_get(&t, repo, "bundle", "cuda/sm_90");		before: where verdicts are looked for
 *	kl_told_key(hex, &t);
 *	kl_told_put(repo, "bundle", "cuda/sm_90", &t);		after: where this one is kept
 *	kl_told_key(hex, &t);
 */
#define KL_TOLD_WORDS 201 /* with the NUL */

struct kl_told {
	char device[KL_TOLD_WORDS], driver[KL_TOLD_WORDS]; /* "": not told */
};

/** Both "" where nothing was told, or what is there is damaged. */
void kl_told_get(struct kl_told *out, struct kl_repo *repo, const char *runner,
		 const char *platform);
/** Durable when it returns. */
int kl_told_put(struct kl_repo *repo, const char *runner, const char *platform,
		const struct kl_told *told);
/** A key that does not know the device becomes one that does; where nothing was told it stays. */
void kl_told_key(char hex[KL_DIGEST_HEX], const struct kl_told *told);

#endif
