/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_RUNNER_PENDING_JOBS_H
#define KL_GATE_RUNNER_PENDING_JOBS_H

#include "repo/repo.h"
#include "text/digest.h"
#include "text/json.h"

/*
 * pending_jobs - keeps records of the jobs that this clone sent elsewhere. The record of a job is
 * the file $GIT_COMMON_DIR/klineage/jobs/<digest>.json (docs/formats.md, "Bundles and results"). A
 * record and a result together give the verdict. A result for a job without a record is refused.
 *
 * A record is kept after its result was imported, so that the same results can be imported again.
 */

/**
 * Write `record` (klineage.pending/1) to disk; its member "job" is the job's digest. The commits of
 * an earlier record of the same job are added to `record`.
 */
int kl_pending_put(struct kl_repo *repo, json_t *record);
/**
 * Read a record. Return KL_ENOTFOUND if this clone sent no such job. Return KL_EINVALID if the
 * record is damaged.
 */
int kl_pending_get(json_t **record, struct kl_repo *repo, const char *digest);

/** Return true if `digest` is 64 lower-case hex digits. */
bool kl_pending_digest_ok(const char *digest);

#endif
