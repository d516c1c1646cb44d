/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/memory.h"

#include <string.h>

#include "base/error.h"

static int map_buffer(struct kl_gpu_buffer *b, const struct kl_gpu_device *d)
{
	const struct kl_gpu_driver *cu = d->cu;
	struct kl_cu_mem_prop prop = {
		.type = KL_CU_ALLOCATION_PINNED,
		.location = { .type = KL_CU_LOCATION_DEVICE, .id = d->dev },
	};
	int rc;

	if ((rc = cu->mem_create(&b->handle, b->nmap, &prop, 0)))
		return rc;
	b->has_handle = true;
	b->nreserved = b->nmap + 2 * KL_GPU_GUARD;
	if ((rc = cu->mem_reserve(&b->reserved, b->nreserved, d->granule, 0, 0))) {
		b->reserved = 0;
		return rc;
	}
	b->map = b->reserved + KL_GPU_GUARD;
	if ((rc = cu->mem_map(b->map, b->nmap, 0, b->handle, 0)))
		return rc;
	b->mapped = true;
	return 0;
}

static int set_access(const struct kl_gpu_buffer *b, const struct kl_gpu_device *d, bool read_only)
{
	const struct kl_cu_access_desc desc = {
		.location = { .type = KL_CU_LOCATION_DEVICE, .id = d->dev },
		.flags = read_only ? KL_CU_ACCESS_READ : KL_CU_ACCESS_READWRITE,
	};

	return d->cu->mem_access(b->map, b->nmap, &desc, 1);
}

int kl_gpu_buffer_make(struct kl_gpu_buffer *b, const struct kl_gpu_device *d, uint64_t bytes,
		       uint64_t align, bool right)
{
	size_t unused = 0, total = 0;
	int rc;

	memset(b, 0, sizeof(*b));
	b->bytes = bytes;
	b->nmap = ((bytes ? bytes : 1) + d->granule - 1) / d->granule * d->granule;
	rc = map_buffer(b, d);
	if (!rc)
		rc = set_access(b, d, false);
	if (!rc) {
		b->at = b->map + (right ? (b->nmap - bytes) & ~(align - 1) : 0);
		return 0;
	}
	kl_gpu_buffer_release(b, d);
	if (rc == KL_CU_OUT_OF_MEMORY) {
		d->cu->mem_info(&unused, &total);
		return kl_gpu_error(d->cu, rc, KL_EIO,
				    "no room for %llu bytes on the GPU, which has %llu "
				    "unused",
				    (unsigned long long)bytes, (unsigned long long)unused);
	}
	return kl_gpu_error(d->cu, rc, KL_EIO, "cannot map %llu bytes on the GPU",
			    (unsigned long long)bytes);
}

void kl_gpu_buffer_release(struct kl_gpu_buffer *b, const struct kl_gpu_device *d)
{
	if (b->mapped)
		d->cu->mem_unmap(b->map, b->nmap);
	if (b->reserved)
		d->cu->mem_unreserve(b->reserved, b->nreserved);
	if (b->has_handle)
		d->cu->mem_release(b->handle);
	memset(b, 0, sizeof(*b));
}

int kl_gpu_buffer_protect(struct kl_gpu_buffer *b, const struct kl_gpu_device *d, bool read_only)
{
	int rc;

	if (b->read_only == read_only)
		return 0;
	if ((rc = d->cu->stream_sync(d->stream)) || (rc = set_access(b, d, read_only)))
		return kl_gpu_error(d->cu, rc, KL_EIO, "cannot change the protection of memory");
	b->read_only = read_only;
	return 0;
}

/* What no kernel would write by itself, and no honest one takes for a number. */
static struct kl_gpu_pattern seed_pattern(uint64_t seed)
{
	return (struct kl_gpu_pattern){
		.seed = seed,
		.keep = 0x003fffff003fffffu,
		.set = 0x7fc000017fc00001u,
	};
}

int kl_gpu_buffer_poison_slack(const struct kl_gpu_buffer *b, const struct kl_gpu_device *d,
			       uint64_t seed)
{
	struct kl_gpu_pattern p = seed_pattern(seed);
	uint64_t end = b->at + b->bytes;
	int err = kl_gpu_fill(d, b->map, b->at - b->map, 0, &p);

	return err < 0 ? err : kl_gpu_fill(d, end, b->map + b->nmap - end, end - b->map, &p);
}

int kl_gpu_buffer_check_slack(const struct kl_gpu_buffer *b, const struct kl_gpu_device *d,
			      uint64_t seed, int64_t *where)
{
	struct kl_gpu_pattern p = seed_pattern(seed);
	uint64_t end = b->at + b->bytes, at = 0;
	int err = kl_gpu_check(d, b->map, b->at - b->map, 0, &p, &at);

	if (err == KL_ENO)
		*where = -(int64_t)(b->at - b->map - at);
	if (err < 0)
		return err;
	err = kl_gpu_check(d, end, b->map + b->nmap - end, end - b->map, &p, &at);
	if (err == KL_ENO)
		*where = (int64_t)(b->bytes + at);
	return err;
}
