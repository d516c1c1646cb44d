/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_MEMORY_H
#define KL_WORKER_GPU_MEMORY_H

#include <stdbool.h>

#include "worker/gpu/tool.h"

/*
 * memory - device buffers that detect accesses outside of them.
 *
 * A buffer is physical memory mapped into a larger reservation of addresses, with an unmapped guard
 * on both sides: an access there is CUDA_ERROR_ILLEGAL_ADDRESS. Mappings come in granules of 2 MiB,
 * so the data is placed at the left or at the right end of the mapping; the rest (the slack) holds
 * a pattern that is checked after each call. Right-aligned data ends within 256 bytes of the guard:
 * 256 is the alignment that every CUDA allocator gives, and kernels may rely on it.
 *
 * Buffers that a kernel only reads are mapped read-only while it runs. Nothing can be copied to
 * read-only memory either, so the protection is lifted while a buffer is filled:
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
	uint64_t map, nmap; /* the mapping */
	uint64_t reserved, nreserved;
	unsigned long long handle;
	bool has_handle, mapped, read_only;
};

/**
 * Allocate a buffer; `align` is a power of two. KL_EIO: out of memory; the message says how much is
 * unused.
 */
int kl_gpu_buffer_make(struct kl_gpu_buffer *buffer, const struct kl_gpu_device *device,
		       uint64_t bytes, uint64_t align, bool right);
void kl_gpu_buffer_release(struct kl_gpu_buffer *buffer, const struct kl_gpu_device *device);
/** Make the buffer read-only or writable. Waits for the stream first. */
int kl_gpu_buffer_protect(struct kl_gpu_buffer *buffer, const struct kl_gpu_device *device,
			  bool read_only);

/** Fill the slack with a pattern from `seed`; enqueued. */
int kl_gpu_buffer_poison_slack(const struct kl_gpu_buffer *buffer,
			       const struct kl_gpu_device *device, uint64_t seed);
/**
 * Check the slack; waits. KL_ENO (no message) if it was changed: `*where` is the first such byte,
 * counted from the beginning of the data (negative: before it).
 */
int kl_gpu_buffer_check_slack(const struct kl_gpu_buffer *buffer,
			      const struct kl_gpu_device *device, uint64_t seed, int64_t *where);

#endif
