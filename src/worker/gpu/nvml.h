/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_NVML_H
#define KL_WORKER_GPU_NVML_H

#include <stdint.h>

#include "base/mem.h"

/*
 * nvml - reads a GPU's state from NVML, its management library.
 *
 * The state is the clocks, the reasons why they are reduced, the temperature, the power, and the
 * processes that compute on the GPU. libnvidia-ml.so.1 is loaded at run time. Reading needs no
 * privilege. If the library is missing or refuses a call, values are unknown; that is not an error.
 */
struct kl_gpu_nvml;

/**
 * Open NVML for GPU `uuid`; free with kl_gpu_nvml_free(). Return NULL if NVML is not available for
 * it.
 */
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
	int sm_mhz, mem_mhz, max_sm_mhz; /* -1 if unknown */
	int celsius, milliwatt;          /* temperature and power; -1 if unknown */
	int64_t reasons;                 /* bits of enum kl_gpu_clock_reason; -1 if unknown */
};
void kl_gpu_nvml_state(struct kl_gpu_state *out, struct kl_gpu_nvml *nvml);

/**
 * Return the number of processes with a compute context on the GPU, this process included; -1 if
 * unknown. The pids of at most `max` of them are stored in `pid`.
 */
int kl_gpu_nvml_processes(struct kl_gpu_nvml *nvml, unsigned *pid, int max);

#endif
