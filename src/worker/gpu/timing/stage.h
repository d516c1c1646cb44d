/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TIMING_STAGE_H
#define KL_WORKER_GPU_TIMING_STAGE_H

#include "worker/pool/pool.h"

/*
 * stage - the profile of backend cuda.
 *
 * Takes samples from a GPU (client.h) for the comparison in blocks.h and judges every answer. It
 * also reports figures that make the times credible and comparable: the slope by the host's clock,
 * clocks and throttling, the device's physical floor, Triton's do_bench.
 *
 * Kernels below KL_GPU_BRIEF_NS are compared by batches of calls between two events, since one
 * event is off by about a microsecond; the time of a single call is reported in addition.
 */
#define KL_GPU_BRIEF_NS 20000.0

/**
 * Profile all performance points of a job. result.profile must exist, with `points` and `notes`.
 */
int kl_gpu_profile(json_t *result, const struct kl_job *job, struct kl_pool *pool);

#endif
