/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_STAGES_H
#define KL_WORKER_STAGE_STAGES_H

#include "worker/pool/pool.h"

/*
 * stages - what a job may ask for; each adds its part to the result
 * (docs/formats.md, "result"). 0 when it could be carried out, whatever the answer.
 */

/**
 * Contract audit: trivial answers must fail, every input must move the output, a
 * lower input format must fail. result.audit
 */
int kl_stage_audit(json_t *result, const struct kl_job *job, struct kl_pool *pool);
/**
 * Every member of the pool, both guard sides, determinism under different poison.
 * result.correct; result.status/class/message on failure.
 */
int kl_stage_correct(json_t *result, const struct kl_job *job, struct kl_pool *pool);
/** ABBA against parent, baseline and itself; every timed call is checked. result.profile */
int kl_stage_profile(json_t *result, const struct kl_job *job, struct kl_pool *pool);
/**
 * Hardware counters of the candidate's launches (ncu.h), `doc` being what the job was read from.
 * result.counters: with `launches`, or `notes` that say why there are none.
 */
int kl_stage_counters(json_t *result, const struct kl_job *job, const json_t *doc);
/**
 * One call of the candidate at the first performance point, for a tool that looks on; nothing is
 * judged.
 */
int kl_stage_launch(json_t *result, const struct kl_job *job, struct kl_pool *pool);

#endif
