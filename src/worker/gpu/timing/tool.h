/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TIMING_TOOL_H
#define KL_WORKER_GPU_TIMING_TOOL_H

#include "worker/gpu/tool.h"

/*
 * tool - launches the gate's two kernels that surround timed calls.
 *
 * The first holds the stream until it is released; the second stores a multiprocessor's clock
 * together with the global timer.
 *
 *	kl_gpu_hold(t);			what is enqueued after this ...
 *	... enqueue ...
 *	kl_gpu_release(t);		... starts here, or when KL_GPU_HOLD_NS have passed
 */
#define KL_GPU_HOLD_NS 200000000ull
/*
 * Maximum number of operations to enqueue while the stream is held. A stream accepts about a
 * thousand; after that, enqueueing another operation blocks.
 */
#define KL_GPU_HOLD_OPS 500

struct kl_gpu_stamp {
	uint64_t timer_ns, clock; /* global timer; clock of the multiprocessor in cycles */
};

struct kl_gpu_time_tool {
	const struct kl_gpu_device *device; /* borrowed */
	struct kl_cu_module *module;
	struct kl_cu_function *hold, *stamp;
	volatile uint32_t *gate; /* host memory that the device reads */
	uint32_t ticket;         /* number of the last hold, which ends when `gate` reaches it */
};

int kl_gpu_time_tool_open(struct kl_gpu_time_tool *tool, const struct kl_gpu_device *device);
void kl_gpu_time_tool_close(struct kl_gpu_time_tool *tool);
/** Enqueue a kernel that holds the stream until kl_gpu_release(), at most KL_GPU_HOLD_NS. */
int kl_gpu_hold(struct kl_gpu_time_tool *tool);
void kl_gpu_release(struct kl_gpu_time_tool *tool);
/**
 * Enqueue a kernel that writes a struct kl_gpu_stamp, with the clock of multiprocessor 0, to device
 * address `out`.
 */
int kl_gpu_stamp_to(const struct kl_gpu_time_tool *tool, uint64_t out);

#endif
