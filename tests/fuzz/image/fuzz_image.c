/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's reader of images: any bytes are refused or are an image, which is
 * written again as it was, and which is mapped, or refused for its imports, without
 * an access outside of it.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "image/code_check.h"
#include "image/image_map.h"

static void *find_some(const char *name, void *payload)
{
	return strlen(name) % 2 ? payload : NULL;
}

static void map_image(const uint8_t *data, size_t size)
{
	struct kl_image_mapped mapped;
	int fd = memfd_create("image", MFD_CLOEXEC);

	MUST(fd >= 0);
	MUST(write(fd, data, size) == (ssize_t)size);
	if (kl_image_map(&mapped, fd, size, find_some, &mapped) == 0) {
		MUST(mapped.entry >= mapped.base && mapped.entry < mapped.base + mapped.size);
		for (uint64_t i = 0; i < mapped.data_bytes && i < 1 << 16; i += 511)
			mapped.data[i] ^= 1;
		kl_image_unmap(&mapped);
	}
	MUST(!mapped.base);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_buf_release) struct kl_buf again = KL_BUF_INIT;
	uint64_t *copy = kl_malloc(size + 8);
	struct kl_image image;

	memcpy(copy, data, size);
	if (kl_image_read(&image, copy, size) == 0) {
		kl_code_check(&image);
		kl_image_write(&again, &image);
		MUST(again.len == size && !memcmp(again.ptr, data, size));
		map_image(data, size);
	}
	free(copy);
	return 0;
}
