/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_HOST_MAP_H
#define KL_WORKER_GPU_HOST_MAP_H

#include <sys/types.h>

#include "worker/gpu/tool.h"

/*
 * host_map - maps and pins memory that the GPU process shares with its worker.
 *
 * Copies take several times as long if the memory is not pinned. But pinning takes time, too, and
 * the worker uses the same memory for one set of tensors after another. So a pinned mapping that is
 * given back is kept for a while: memory that the worker sends again is then still mapped and
 * pinned.
 */
#define KL_GPU_HOST_MAPS 4

struct kl_gpu_host_map {
	void *at; /* NULL if nothing is mapped */
	uint64_t bytes;
	dev_t dev; /* device and inode of the file, which identify the memory */
	ino_t ino;
	bool pinned;
};

/* Mappings that were given back, the oldest first. Initialize the struct to zero. */
struct kl_gpu_host_maps {
	struct kl_gpu_host_map kept[KL_GPU_HOST_MAPS];
};

/*
 * Mappings that are larger than this are not kept for reuse, neither by the worker nor by the GPU
 * process.
 */
#define KL_GPU_HOST_SPARE_BYTES ((uint64_t)1 << 30)

/**
 * Map `bytes` of `fd`, or take the mapping of the same memory from `maps`. The caller closes `fd`.
 * With `pin`, also pin the mapping if it is so large that pinning is worth its time. A failure to
 * pin is not an error, since it only makes copies slower. Return KL_EINVALID if `bytes` is 0, or
 * `fd` is not a file of at least that size.
 */
int kl_gpu_host_map(struct kl_gpu_host_map *out, struct kl_gpu_host_maps *maps,
		    const struct kl_gpu_device *device, int fd, uint64_t bytes, bool pin);
/**
 * Give back a mapping that no copy uses any more. It is kept in `maps` if it is pinned and not too
 * large, otherwise unmapped. If `maps` is NULL, it is always unmapped: the worker will not send
 * this memory again.
 */
void kl_gpu_host_unmap(struct kl_gpu_host_map *map, struct kl_gpu_host_maps *maps,
		       const struct kl_gpu_device *device);

#endif
