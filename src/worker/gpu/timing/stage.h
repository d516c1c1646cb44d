/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TIMING_STAGE_H
#define KL_WORKER_GPU_TIMING_STAGE_H

#include "worker/pool/pool.h"

/*
 * stage - profiles a candidate of backend cuda.
 *
 * The profile takes samples on a GPU (client.h) for the comparison in measure/blocks.h and judges
 * every answer. It also reports figures that make the times credible and comparable: the time by
 * which one more call lengthens a run (by the host's clock), the device's clocks and their
 * throttling, the physical floor, and the time of do_bench.
 *
 * Kernels that take less than KL_GPU_BRIEF_NS are compared by batches of calls between two events,
 * since the time of an event has an error of about a microsecond. For these kernels, the time of a
 * single call is reported as well.
 */
#define KL_GPU_BRIEF_NS 20000.0

/**
 * Profile the performance points of a job. result.profile must exist, with the arrays `points` and
 * `notes`, to which the profile is added. Return 0 even if the candidate fails; `result` then says
 * so.
 */
int kl_gpu_profile(json_t *result, const struct kl_job *job, struct kl_pool *pool);

#endif
