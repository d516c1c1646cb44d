/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_NVML_H
#define KL_WORKER_GPU_NVML_H

#include <stdint.h>

#include "base/mem.h"

/*
 * nvml - reads a GPU's state from NVML, its management library.
 *
 * The state is clocks, the reasons why they are reduced, temperature, power, and other processes
 * that compute on it. libnvidia-ml.so.1 is loaded at run time. It only reads and needs no
 * privilege. All of it is optional: without the library, or if a call is refused, values are
 * unknown and nothing fails.
 */
struct kl_gpu_nvml;

/** NULL if NVML is not available for this GPU. Free with kl_gpu_nvml_free(). */
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
	int sm_mhz, mem_mhz, max_sm_mhz; /* -1: unknown */
	int celsius, milliwatt;
	int64_t reasons; /* bits of enum kl_gpu_clock_reason; -1: unknown */
};
void kl_gpu_nvml_state(struct kl_gpu_state *out, struct kl_gpu_nvml *nvml);

/**
 * Number of processes with a compute context on the GPU, this one included; -1: unknown. At most
 * `max` pids are stored.
 */
int kl_gpu_nvml_processes(struct kl_gpu_nvml *nvml, unsigned *pid, int max);

#endif
