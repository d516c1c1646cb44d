/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TIMING_STAGE_H
#define KL_WORKER_GPU_TIMING_STAGE_H

#include "worker/pool/pool.h"

/*
 * stage - the profile of surface cuda: samples from a GPU (client.h) for the comparison of
 * blocks.h, each answer looked at; and beside them what makes them believable and comparable:
 * the slope by the clock, clocks and throttling, the device's own floor, Triton's do_bench.
 *
 * Kernels below KL_GPU_BRIEF_NS are compared by batches of calls between two events, since one
 * event is off by about a microsecond; the single call's time is reported beside.
 */
#define KL_GPU_BRIEF_NS 20000.0

/** result.profile is there already, with `points` and `notes`. */
int kl_gpu_profile(json_t *result, const struct kl_job *job, struct kl_pool *pool);

#endif
