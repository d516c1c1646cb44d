/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TRACE_H
#define KL_WORKER_GPU_TRACE_H

#include "worker/gpu/tool.h"

/*
 * trace - records the kernels, copies and fills that ran on the GPU, as CUPTI reports them.
 *
 * libcupti is loaded on demand. A process can have one trace: CUPTI supports only one user.
 *
 *	kl_gpu_trace_open(&t, device);
 *	kl_gpu_trace_begin(t);		forget earlier records
 *	... calls, and wait for them ...
 *	kl_gpu_trace_end(t, seen);	each kernel, copy and fill since then
 */
#define KL_GPU_TRACE_MOST 64
#define KL_GPU_TRACE_NAME 200

struct kl_gpu_seen {
	uint32_t n, lost; /* lost: number of records that did not fit */
	struct kl_gpu_seen_one {
		int32_t kind;                 /* enum kl_gpu_seen_kind */
		int32_t elsewhere;            /* nonzero if it did not run on the device's stream */
		uint64_t bytes;               /* size of a copy or a fill */
		char name[KL_GPU_TRACE_NAME]; /* name of a kernel, from kl_gpu_trace_name() */
	} one[KL_GPU_TRACE_MOST];
};
enum kl_gpu_seen_kind { KL_GPU_SEEN_KERNEL, KL_GPU_SEEN_COPY, KL_GPU_SEEN_FILL };

/**
 * Write a kernel's name to `out` as it appears in a trace: unchanged or, if it is too long (names
 * of template instances can have thousands of characters), its beginning, '#', and the SHA-256 of
 * the whole name.
 */
void kl_gpu_trace_name(char out[KL_GPU_TRACE_NAME], const char *name);

struct kl_gpu_trace;
/**
 * Start a trace, which stays open until the process ends. Return KL_ECANNOT if there is no CUPTI,
 * CUPTI refuses, or the process has a trace already.
 */
int kl_gpu_trace_open(struct kl_gpu_trace **out, const struct kl_gpu_device *device);
void kl_gpu_trace_begin(struct kl_gpu_trace *trace);
void kl_gpu_trace_end(struct kl_gpu_trace *trace, struct kl_gpu_seen *out);

#endif
