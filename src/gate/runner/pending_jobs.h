/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_RUNNER_PENDING_JOBS_H
#define KL_GATE_RUNNER_PENDING_JOBS_H

#include "repo/repo.h"
#include "text/digest.h"
#include "text/json.h"

/*
 * pending_jobs - jobs sent elsewhere, each with all that its verdict needs but the result:
 * $GIT_COMMON_DIR/klineage/jobs/<digest>.json (docs/formats.md, "Bundles and results"). A result
 * for a job that is not here is nobody's.
 *
 * A record stays after its result came, so that the same results may come again.
 */

/**
 * Keep `record` (klineage.pending/1, its "job" is the digest); durable when it returns. What an
 * earlier record of the same job knows of commits is kept, too.
 */
int kl_pending_put(struct kl_repo *repo, json_t *record);
/** KL_ENOTFOUND: this clone sent no such job away. KL_EINVALID: its record is damaged. */
int kl_pending_get(json_t **record, struct kl_repo *repo, const char *digest);

/** 64 lower-case hex digits? */
bool kl_pending_digest_ok(const char *digest);

#endif
