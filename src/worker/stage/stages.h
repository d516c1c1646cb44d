/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_STAGES_H
#define KL_WORKER_STAGE_STAGES_H

#include "worker/pool/pool.h"

/*
 * stages - the stages of a job; each adds its part to the result (docs/formats.md, "result"). They
 * return 0 if they could run, whatever the verdict.
 */

/**
 * Contract audit: trivial answers must fail, every input must affect an output, and inputs in a
 * lower format must fail. Sets result.audit.
 */
int kl_stage_audit(json_t *result, const struct kl_job *job, struct kl_pool *pool);
/**
 * Call the candidate on the members of the pool, with both guard sides, and check that it is
 * deterministic under different poison. Sets result.correct; on failure also result.status, class
 * and message.
 */
int kl_stage_correct(json_t *result, const struct kl_job *job, struct kl_pool *pool);
/**
 * Time the candidate against parent, baseline and itself, in blocks (measure/blocks.h); every timed
 * call is checked. Sets result.profile; on failure also result.status, class and message.
 */
int kl_stage_profile(json_t *result, const struct kl_job *job, struct kl_pool *pool);
/**
 * Read hardware counters of the candidate's launches (ncu.h). `doc` is the JSON that the job was
 * parsed from. Sets result.counters, with `launches`, or with `notes` that say why there are none.
 */
int kl_stage_counters(json_t *result, const struct kl_job *job, const json_t *doc);
/**
 * Call the candidate once at the first performance point, for a tool that observes it; nothing is
 * judged.
 */
int kl_stage_launch(json_t *result, const struct kl_job *job, struct kl_pool *pool);

#endif
