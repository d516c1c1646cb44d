/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_NVML_H
#define KL_WORKER_GPU_NVML_H

#include <stdint.h>

#include "base/mem.h"

/*
 * nvml - a GPU's state by its management library (libnvidia-ml.so.1, opened at run time): clocks,
 * why they are lower than they could be, temperature, power, who else computes on it. Reads only,
 * needs no privilege. All of it is optional: without the library, or where it refuses, there is
 * nothing to report and nothing fails.
 */
struct kl_gpu_nvml;

/** NULL: not to be had. */
struct kl_gpu_nvml *kl_gpu_nvml_open(const char *uuid);
void kl_gpu_nvml_free(struct kl_gpu_nvml *nvml);
KL_DEFINE_CLEANUP(struct kl_gpu_nvml *, kl_gpu_nvml_free)

enum kl_gpu_clock_reason {
	KL_GPU_CLOCK_IDLE = 0x1,
	KL_GPU_CLOCK_SW_POWER = 0x4,
	KL_GPU_CLOCK_HW_SLOWDOWN = 0x8,
	KL_GPU_CLOCK_SW_THERMAL = 0x20,
	KL_GPU_CLOCK_HW_THERMAL = 0x40,
	KL_GPU_CLOCK_HW_BRAKE = 0x80,
};
struct kl_gpu_state {
	int sm_mhz, mem_mhz, max_sm_mhz; /* -1: not known */
	int celsius, milliwatt;
	int64_t reasons; /* enum kl_gpu_clock_reason; -1 */
};
void kl_gpu_nvml_state(struct kl_gpu_state *out, struct kl_gpu_nvml *nvml);

/**
 * Processes with a compute context on it, ours included; -1: not known. At most `max` pids are
 * written.
 */
int kl_gpu_nvml_processes(struct kl_gpu_nvml *nvml, unsigned *pid, int max);

#endif
