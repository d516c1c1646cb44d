/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TRACE_H
#define KL_WORKER_GPU_TRACE_H

#include "worker/gpu/tool.h"

/*
 * trace - what ran on the GPU, by name, from CUPTI's activity records. libcupti is opened when it
 * is asked for. One tracer of a process: CUPTI has no more.
 *
 *	kl_gpu_trace_open(&t, device);
 *	kl_gpu_trace_begin(t);			forget what was
 *	... calls, and wait for them ...
 *	kl_gpu_trace_end(t, seen);		each kernel and copy
 */
#define KL_GPU_TRACE_MOST 64
#define KL_GPU_TRACE_NAME 200

struct kl_gpu_seen {
	uint32_t n, lost; /* lost: there were more than fit */
	struct kl_gpu_seen_one {
		int32_t kind;                 /* enum kl_gpu_seen_kind */
		int32_t elsewhere;            /* not on the device's own stream */
		uint64_t bytes;               /* of a copy or a fill */
		char name[KL_GPU_TRACE_NAME]; /* of a kernel: kl_gpu_trace_name() */
	} one[KL_GPU_TRACE_MOST];
};
enum kl_gpu_seen_kind { KL_GPU_SEEN_KERNEL, KL_GPU_SEEN_COPY, KL_GPU_SEEN_FILL };

/**
 * How a kernel's name stands there: as it is, or, where it is longer (templates have names of
 * thousands of letters), its beginning, '#', and the SHA-256 of all of it.
 */
void kl_gpu_trace_name(char out[KL_GPU_TRACE_NAME], const char *name);

struct kl_gpu_trace;
/** KL_ECANNOT: no CUPTI here, or it refuses. Stays open for as long as the process lives. */
int kl_gpu_trace_open(struct kl_gpu_trace **out, const struct kl_gpu_device *device);
void kl_gpu_trace_begin(struct kl_gpu_trace *trace);
void kl_gpu_trace_end(struct kl_gpu_trace *trace, struct kl_gpu_seen *out);

#endif
