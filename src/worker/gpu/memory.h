/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_MEMORY_H
#define KL_WORKER_GPU_MEMORY_H

#include <stdbool.h>

#include "worker/gpu/tool.h"

/*
 * memory - allocates device buffers that detect accesses outside of them.
 *
 * A buffer is physical memory mapped into a larger reservation of addresses, with an unmapped guard
 * on both sides: an access to a guard fails with CUDA_ERROR_ILLEGAL_ADDRESS. Mappings come in
 * granules of 2 MiB, so the data is placed at the left or at the right end of the mapping; the rest
 * (the slack) holds a pattern that is checked after each call. Right-aligned data ends within 256
 * bytes of the guard: every CUDA allocator aligns to 256 bytes, and kernels may rely on this
 * alignment.
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
	uint64_t at;                  /* device address of the data */
	uint64_t bytes;               /* size of the data */
	uint64_t map, nmap;           /* address and bytes of the mapping */
	uint64_t reserved, nreserved; /* address and bytes of the reservation */
	unsigned long long handle;
	bool has_handle, mapped, read_only;
};

/**
 * Allocate a buffer; `align` is a power of two, `right` places the data at the right end of the
 * mapping. Return KL_EIO if the device is out of memory. The message says how much memory is
 * unused.
 */
int kl_gpu_buffer_make(struct kl_gpu_buffer *buffer, const struct kl_gpu_device *device,
		       uint64_t bytes, uint64_t align, bool right);
void kl_gpu_buffer_release(struct kl_gpu_buffer *buffer, const struct kl_gpu_device *device);
/** Make the buffer read-only or writable. Waits for the stream first. */
int kl_gpu_buffer_protect(struct kl_gpu_buffer *buffer, const struct kl_gpu_device *device,
			  bool read_only);

/** Enqueue the filling of the slack with a pattern that `seed` determines. */
int kl_gpu_buffer_poison_slack(const struct kl_gpu_buffer *buffer,
			       const struct kl_gpu_device *device, uint64_t seed);
/**
 * Wait for the stream and check the slack. Return KL_ENO, without a message, if the slack was
 * changed; *where is then the first changed byte, counted from the beginning of the data and
 * negative if it is before the data.
 */
int kl_gpu_buffer_check_slack(const struct kl_gpu_buffer *buffer,
			      const struct kl_gpu_device *device, uint64_t seed, int64_t *where);

#endif
