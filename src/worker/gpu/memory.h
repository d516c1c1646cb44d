/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_MEMORY_H
#define KL_WORKER_GPU_MEMORY_H

#include <stdbool.h>

#include "worker/gpu/tool.h"

/*
 * memory - device buffers that catch what goes past them.
 *
 * A buffer is physical memory mapped into a reservation of addresses that is larger by a
 * guard on both sides in which nothing is mapped: an access there is
 * CUDA_ERROR_ILLEGAL_ADDRESS. What is mapped comes in granules of 2 MiB, so the data lie at
 * the left or at the right end of the mapping; what is left over (the slack) holds a pattern
 * that is looked at after each call. Right-aligned data end within 256 bytes of the guard:
 * 256 is the alignment that every allocator of CUDA gives, and kernels may count on it.
 *
 * Buffers that a kernel only reads are mapped read-only while it runs. Read-only memory
 * cannot be copied to either, so who fills one opens it for that while:
 *
 *	kl_gpu_buffer_make(&b, dev, bytes, 256, right);
 *	kl_gpu_buffer_poison_slack(&b, dev, seed);
 *	... copy to b.at ...
 *	kl_gpu_buffer_protect(&b, dev, true);
 *	... kernels ...
 *	kl_gpu_buffer_protect(&b, dev, false);
 *	kl_gpu_buffer_check_slack(&b, dev, seed, &where);
 */
#define KL_GPU_GUARD ((uint64_t)64 << 20)

struct kl_gpu_buffer {
	uint64_t at;        /* device address of the data */
	uint64_t bytes;     /* of data */
	uint64_t map, nmap; /* what is mapped */
	uint64_t reserved, nreserved;
	unsigned long long handle;
	bool has_handle, mapped, read_only;
};

/** `align`: a power of two. KL_EIO: no memory, with how much there is. */
int kl_gpu_buffer_make(struct kl_gpu_buffer *buffer, const struct kl_gpu_device *device,
		       uint64_t bytes, uint64_t align, bool right);
void kl_gpu_buffer_release(struct kl_gpu_buffer *buffer, const struct kl_gpu_device *device);
/** Waits for the stream first. */
int kl_gpu_buffer_protect(struct kl_gpu_buffer *buffer, const struct kl_gpu_device *device,
			  bool read_only);

/** A pattern from `seed` around the data; enqueued. */
int kl_gpu_buffer_poison_slack(const struct kl_gpu_buffer *buffer,
			       const struct kl_gpu_device *device, uint64_t seed);
/**
 * KL_ENO (no message): it was changed, `*where` is the first such byte counted from the
 * beginning of the data (negative: before it). Waits.
 */
int kl_gpu_buffer_check_slack(const struct kl_gpu_buffer *buffer,
			      const struct kl_gpu_device *device, uint64_t seed, int64_t *where);

#endif
