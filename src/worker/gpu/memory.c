/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/memory.h"

#include <string.h>

#include "base/error.h"

static int map_buffer(struct kl_gpu_buffer *buffer, const struct kl_gpu_device *device)
{
	const struct kl_gpu_driver *cu = device->cu;
	struct kl_cu_mem_prop prop = {
		.type = KL_CU_ALLOCATION_PINNED,
		.location = { .type = KL_CU_LOCATION_DEVICE, .id = device->dev },
	};
	int rc;

	if ((rc = cu->mem_create(&buffer->handle, buffer->nmap, &prop, 0)))
		return rc;
	buffer->has_handle = true;
	buffer->nreserved = buffer->nmap + 2 * KL_GPU_GUARD;
	if ((rc = cu->mem_reserve(&buffer->reserved, buffer->nreserved, device->granule, 0, 0))) {
		buffer->reserved = 0;
		return rc;
	}
	buffer->map = buffer->reserved + KL_GPU_GUARD;
	if ((rc = cu->mem_map(buffer->map, buffer->nmap, 0, buffer->handle, 0)))
		return rc;
	buffer->mapped = true;
	return 0;
}

static int set_access(const struct kl_gpu_buffer *buffer, const struct kl_gpu_device *device,
		      bool read_only)
{
	const struct kl_cu_access_desc desc = {
		.location = { .type = KL_CU_LOCATION_DEVICE, .id = device->dev },
		.flags = read_only ? KL_CU_ACCESS_READ : KL_CU_ACCESS_READWRITE,
	};

	return device->cu->mem_access(buffer->map, buffer->nmap, &desc, 1);
}

int kl_gpu_buffer_make(struct kl_gpu_buffer *buffer, const struct kl_gpu_device *device,
		       uint64_t bytes, uint64_t align, bool right)
{
	size_t unused = 0, total = 0;
	int rc;

	memset(buffer, 0, sizeof(*buffer));
	buffer->bytes = bytes;
	buffer->nmap = ((bytes ? bytes : 1) + device->granule - 1) / device->granule *
		       device->granule;
	rc = map_buffer(buffer, device);
	if (!rc)
		rc = set_access(buffer, device, false);
	if (!rc) {
		buffer->at = buffer->map + (right ? (buffer->nmap - bytes) & ~(align - 1) : 0);
		return 0;
	}
	kl_gpu_buffer_release(buffer, device);
	if (rc == KL_CU_OUT_OF_MEMORY) {
		device->cu->mem_info(&unused, &total);
		return kl_gpu_error(device->cu, rc, KL_EIO,
				    "cannot allocate %llu bytes on the GPU, which has %llu "
				    "unused",
				    (unsigned long long)bytes, (unsigned long long)unused);
	}
	return kl_gpu_error(device->cu, rc, KL_EIO, "cannot map %llu bytes on the GPU",
			    (unsigned long long)bytes);
}

void kl_gpu_buffer_release(struct kl_gpu_buffer *buffer, const struct kl_gpu_device *device)
{
	if (buffer->mapped)
		device->cu->mem_unmap(buffer->map, buffer->nmap);
	if (buffer->reserved)
		device->cu->mem_unreserve(buffer->reserved, buffer->nreserved);
	if (buffer->has_handle)
		device->cu->mem_release(buffer->handle);
	memset(buffer, 0, sizeof(*buffer));
}

int kl_gpu_buffer_protect(struct kl_gpu_buffer *buffer, const struct kl_gpu_device *device,
			  bool read_only)
{
	int rc;

	if (buffer->read_only == read_only)
		return 0;
	if ((rc = device->cu->stream_sync(device->stream)) ||
	    (rc = set_access(buffer, device, read_only)))
		return kl_gpu_error(device->cu, rc, KL_EIO,
				    "cannot change the protection of device memory");
	buffer->read_only = read_only;
	return 0;
}

/*
 * Return the pattern for slack: values that no kernel writes by chance, and that are NaN as floats.
 */
static struct kl_gpu_pattern seed_pattern(uint64_t seed)
{
	return (struct kl_gpu_pattern){
		.seed = seed,
		.keep = 0x003fffff003fffffu,
		.set = 0x7fc000017fc00001u,
	};
}

int kl_gpu_buffer_poison_slack(const struct kl_gpu_buffer *buffer,
			       const struct kl_gpu_device *device, uint64_t seed)
{
	struct kl_gpu_pattern pattern = seed_pattern(seed);
	uint64_t end = buffer->at + buffer->bytes;
	int err = kl_gpu_fill(device, buffer->map, buffer->at - buffer->map, 0, &pattern);

	return err < 0 ? err :
			 kl_gpu_fill(device, end, buffer->map + buffer->nmap - end,
				     end - buffer->map, &pattern);
}

int kl_gpu_buffer_check_slack(const struct kl_gpu_buffer *buffer,
			      const struct kl_gpu_device *device, uint64_t seed, int64_t *where)
{
	struct kl_gpu_pattern pattern = seed_pattern(seed);
	uint64_t end = buffer->at + buffer->bytes, at = 0;
	int err = kl_gpu_check(device, buffer->map, buffer->at - buffer->map, 0, &pattern, &at);

	if (err == KL_ENO)
		*where = -(int64_t)(buffer->at - buffer->map - at);
	if (err < 0)
		return err;
	err = kl_gpu_check(device, end, buffer->map + buffer->nmap - end, end - buffer->map,
			   &pattern, &at);
	if (err == KL_ENO)
		*where = (int64_t)(buffer->bytes + at);
	return err;
}
