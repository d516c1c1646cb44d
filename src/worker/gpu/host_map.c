/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/host_map.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/error.h"

#define PIN_BYTES ((uint64_t)1 << 20) /* copies of smaller mappings are fast enough unpinned */

static void end_map(struct kl_gpu_host_map *map, const struct kl_gpu_device *device)
{
	if (map->pinned)
		device->cu->host_unregister(map->at);
	if (map->at)
		munmap(map->at, map->bytes);
	memset(map, 0, sizeof(*map));
}

/* Take the kept mapping of the memory that `st` identifies. Return false if there is none. */
static bool take_kept(struct kl_gpu_host_map *out, struct kl_gpu_host_maps *maps,
		      const struct stat *st, uint64_t bytes)
{
	for (size_t i = 0; i < KL_GPU_HOST_MAPS; i++) {
		struct kl_gpu_host_map *kept = &maps->kept[i];

		if (!kept->at || kept->dev != st->st_dev || kept->ino != st->st_ino ||
		    kept->bytes != bytes)
			continue;
		*out = *kept;
		memset(kept, 0, sizeof(*kept));
		return true;
	}
	return false;
}

/* Check that `bytes` is not 0 and that `fd` is a file of at least that size. */
static int check_size(struct stat *st, int fd, uint64_t bytes)
{
	if (fd < 0 || fstat(fd, st) < 0 || st->st_size < 0 || (uint64_t)st->st_size < bytes ||
	    !bytes)
		return kl_error(KL_EINVALID, "the request came without a memory file of %llu bytes",
				(unsigned long long)bytes);
	return 0;
}

int kl_gpu_host_map(struct kl_gpu_host_map *out, struct kl_gpu_host_maps *maps,
		    const struct kl_gpu_device *device, int fd, uint64_t bytes, bool pin)
{
	struct kl_gpu_host_map map = { .bytes = bytes };
	struct stat st;
	int err = check_size(&st, fd, bytes);

	if (err < 0)
		return err;
	if (take_kept(out, maps, &st, bytes))
		return 0;
	map.dev = st.st_dev;
	map.ino = st.st_ino;
	map.at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map.at == MAP_FAILED)
		return kl_error_errno("cannot map shared memory");
	map.pinned = pin && bytes >= PIN_BYTES && !device->cu->host_register(map.at, bytes, 0);
	*out = map;
	return 0;
}

void kl_gpu_host_unmap(struct kl_gpu_host_map *map, struct kl_gpu_host_maps *maps,
		       const struct kl_gpu_device *device)
{
	size_t last = KL_GPU_HOST_MAPS - 1;

	if (!map->at)
		return;
	if (!map->pinned || !maps || map->bytes > KL_GPU_HOST_SPARE_BYTES) {
		end_map(map, device);
		return;
	}
	end_map(&maps->kept[0], device);
	memmove(&maps->kept[0], &maps->kept[1], last * sizeof(maps->kept[0]));
	maps->kept[last] = *map;
	memset(map, 0, sizeof(*map));
}
