/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_HOST_MAP_H
#define KL_WORKER_GPU_HOST_MAP_H

#include <sys/types.h>

#include "worker/gpu/tool.h"

/*
 * host_map - memory that the GPU process shares with its worker: mapped, and pinned, because copies
 * to and from other memory take several times as long.
 *
 * Pinning takes time as well, and the worker uses the same memory for one set of tensors after
 * another. So a mapping that is given back is kept for a while; when the same memory comes again,
 * it is still mapped and pinned.
 */
#define KL_GPU_HOST_MAPS 4

struct kl_gpu_host_map {
	void *at; /* NULL: nothing */
	uint64_t bytes;
	dev_t dev; /* which memory it is */
	ino_t ino;
	bool pinned;
};

/* Mappings that were given back, the oldest first. Initialize it to zero. */
struct kl_gpu_host_maps {
	struct kl_gpu_host_map kept[KL_GPU_HOST_MAPS];
};

/* Larger mappings are not used again: neither side keeps them. */
#define KL_GPU_HOST_SPARE_BYTES ((uint64_t)1 << 30)

/**
 * Map `bytes` of `fd`, whose size is checked; the caller closes `fd`. `pin`: pin it, if that is
 * worth the time; if it fails, copies are slower and nothing else. KL_EINVALID: `fd` has no such
 * memory.
 */
int kl_gpu_host_map(struct kl_gpu_host_map *out, struct kl_gpu_host_maps *maps,
		    const struct kl_gpu_device *device, int fd, uint64_t bytes, bool pin);
/**
 * Give a mapping back; no copy may still use it. `maps` NULL: the worker will not use this memory
 * again, so it is not kept.
 */
void kl_gpu_host_unmap(struct kl_gpu_host_map *map, struct kl_gpu_host_maps *maps,
		       const struct kl_gpu_device *device);

#endif
