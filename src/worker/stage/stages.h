/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_STAGES_H
#define KL_WORKER_STAGE_STAGES_H

#include "worker/pool/pool.h"

/*
 * stages - the functions that run the stages of a job. Each adds its findings to the result
 * (docs/formats.md, "result") and returns 0 if it could run, whatever the verdict.
 */

/**
 * Audit the contract: check that its rules refuse trivial answers and answers computed from inputs
 * rounded to a lower format, and that every input affects an output. Sets result.audit; if there is
 * a problem also result.status, class and message.
 */
int kl_stage_audit(json_t *result, const struct kl_job *job, struct kl_pool *pool);
/**
 * Call the candidate with the members of the pool, with buffers on both guard sides and different
 * poison, and judge its answers and whether it is deterministic. Sets result.correct; on failure
 * also result.status, class and message.
 */
int kl_stage_correct(json_t *result, const struct kl_job *job, struct kl_pool *pool);
/**
 * Time the candidate against parent, baseline and itself, in blocks (measure/blocks.h), and judge
 * the answers of all timed calls. Sets result.profile; on failure also result.status, class and
 * message.
 */
int kl_stage_profile(json_t *result, const struct kl_job *job, struct kl_pool *pool);
/**
 * Read hardware counters of the candidate's launches (ncu.h). `doc` is the JSON that the job was
 * parsed from. Sets result.counters: it has `launches`, or `notes` that say why it has none.
 */
int kl_stage_counters(json_t *result, const struct kl_job *job, const json_t *doc);
/**
 * Call the candidate once at the first performance point, so that a tool can observe the call.
 * Judges nothing.
 */
int kl_stage_launch(json_t *result, const struct kl_job *job, struct kl_pool *pool);

#endif
