/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image_map.h"

#include <string.h>
#include <sys/mman.h>

#include "base/error.h"

/* The state while an image is being mapped. */
struct loader {
	struct kl_image image;
	unsigned char *base;
	void *range;
	size_t range_bytes;
	int fd;
};

static int map_failed(void)
{
	return kl_error_errno("cannot map the image");
}

/*
 * Reserve addresses for the image and for a guard on each side of it. The guards stay inaccessible.
 */
static int reserve_range(struct loader *loader)
{
	uint64_t align = loader->image.align, first;

	loader->range_bytes = kl_image_offset(&loader->image, 3) + 2 * KL_IMAGE_GUARD + align;
	loader->range = mmap(NULL, loader->range_bytes, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (loader->range == MAP_FAILED)
		return map_failed();
	first = (uint64_t)(uintptr_t)loader->range + KL_IMAGE_GUARD;
	loader->base = (unsigned char *)(uintptr_t)((first + align - 1) & ~(align - 1));
	return 0;
}

/* Map the bytes of a segment from the file. */
static int map_segment(const struct loader *loader, int segment, uint64_t bytes, int prot)
{
	uint64_t offset = kl_image_offset(&loader->image, segment);

	if (bytes && mmap(loader->base + offset, bytes, prot, MAP_PRIVATE | MAP_FIXED, loader->fd,
			  (off_t)kl_image_file_offset(offset)) == MAP_FAILED)
		return map_failed();
	return 0;
}

/*
 * Map the pages of bss that follow the last page of data. The part of bss on that page is mapped
 * with the data: the file has zeros there.
 */
static int map_bss(const struct loader *loader)
{
	const struct kl_image *image = &loader->image;
	uint64_t offset = kl_image_offset(image, 2), end = kl_image_offset(image, 3);

	offset += (image->data + KL_IMAGE_PAGE - 1) & ~(KL_IMAGE_PAGE - 1);
	if (end > offset &&
	    mmap(loader->base + offset, end - offset, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return map_failed();
	return 0;
}

static int map_segments(const struct loader *loader)
{
	const struct kl_image *image = &loader->image;
	int err = map_segment(loader, 0, image->text, PROT_READ | PROT_EXEC);

	if (!err)
		err = map_segment(loader, 1, image->rodata, PROT_READ | PROT_WRITE);
	if (!err)
		err = map_segment(loader, 2, image->data, PROT_READ | PROT_WRITE);
	return err ? err : map_bss(loader);
}

/* Store `value` in the word at offset `at`, which can be unaligned, as in a packed structure. */
static void fill_slot(const struct loader *loader, uint64_t at, uint64_t value)
{
	memcpy(loader->base + at, &value, sizeof(value));
}

static void fill_addresses(const struct loader *loader)
{
	const struct kl_image *image = &loader->image;
	uint64_t base = (uint64_t)(uintptr_t)loader->base;
	uint64_t thread = (uint64_t)(uintptr_t)__builtin_thread_pointer();

	for (uint64_t i = 0; i < image->naddress; i++)
		fill_slot(loader, image->address[i].at, base + (uint64_t)image->address[i].to);
	for (uint64_t i = 0; i < image->nthread; i++)
		fill_slot(loader, image->thread[i].at,
			  base + (uint64_t)image->thread[i].to - thread);
}

static int fill_imports(const struct loader *loader, kl_image_find find, void *payload)
{
	const struct kl_image *image = &loader->image;

	for (uint64_t i = 0; i < image->nimport; i++) {
		const char *name = image->names + image->import[i].name;
		void *found = find ? find(name, payload) : NULL;

		if (!found)
			return kl_error(KL_EINVALID,
					"uses '%.100s', which the worker does not provide", name);
		fill_slot(loader, image->import[i].at,
			  (uint64_t)(uintptr_t)found + (uint64_t)(int64_t)image->import[i].add);
	}
	return 0;
}

static int protect_rodata(const struct loader *loader)
{
	uint64_t from = kl_image_offset(&loader->image, 1), to = kl_image_offset(&loader->image, 2);

	if (to > from && mprotect(loader->base + from, to - from, PROT_READ) < 0)
		return map_failed();
	return 0;
}

static unsigned char *place_of(const struct loader *loader, uint64_t offset)
{
	return offset == KL_IMAGE_NONE ? NULL : loader->base + offset;
}

static void describe_mapped(struct kl_image_mapped *out, const struct loader *loader)
{
	const struct kl_image *image = &loader->image;

	*out = (struct kl_image_mapped){
		.base = loader->base,
		.size = kl_image_offset(image, 3),
		.range = loader->range,
		.range_bytes = loader->range_bytes,
		.entry = place_of(loader, image->entry),
		.arena = place_of(loader, image->arena),
		.dims = place_of(loader, image->dims),
		.start = place_of(loader, image->start),
		.frames = place_of(loader, image->frames),
		.data = place_of(loader, kl_image_offset(image, 2)),
		.data_bytes = image->data + image->bss,
	};
	for (size_t i = 0; i < KL_IMAGE_ADAPTER; i++)
		out->adapter[i] = place_of(loader, image->adapter[i]);
}

int kl_image_map(struct kl_image_mapped *out, int fd, size_t len, kl_image_find find, void *payload)
{
	struct loader loader = { .fd = fd };
	void *file = mmap(NULL, len ? len : 1, PROT_READ, MAP_PRIVATE, fd, 0);
	int err;

	*out = (struct kl_image_mapped){ .base = NULL };
	if (file == MAP_FAILED)
		return map_failed();
	err = kl_image_read(&loader.image, file, len);
	if (!err)
		err = reserve_range(&loader);
	if (!err)
		err = map_segments(&loader);
	if (!err) {
		fill_addresses(&loader);
		err = fill_imports(&loader, find, payload);
	}
	if (!err)
		err = protect_rodata(&loader);
	if (loader.base)
		describe_mapped(out, &loader);
	munmap(file, len ? len : 1);
	if (err < 0)
		kl_image_unmap(out);
	return err;
}

void kl_image_unmap(struct kl_image_mapped *mapped)
{
	if (mapped->base)
		munmap(mapped->range, mapped->range_bytes);
	*mapped = (struct kl_image_mapped){ .base = NULL };
}
