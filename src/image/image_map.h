/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_IMAGE_IMAGE_MAP_H
#define KL_IMAGE_IMAGE_MAP_H

#include "image/image.h"

/*
 * image_map - maps an image into this process and fills in the addresses that it contains. Text is
 * never writable and no other segment is executable. No code of the image runs.
 *
 * Mapping makes no system calls other than mmap, mprotect and munmap, so a process can confine
 * itself before it maps an image. The file must not change while it is mapped; base/sealed.h makes
 * files that cannot change.
 */
struct kl_image_mapped {
	unsigned char *base; /* address of the image, where the text starts; NULL if not mapped */
	uint64_t size;       /* bytes of all segments */
	void *range;         /* all reserved addresses, with the guards */
	uint64_t range_bytes;
	/*
	 * addresses of the parts whose offsets are in struct kl_image under the same names; NULL if
	 * the image has no such part
	 */
	unsigned char *entry, *arena, *dims, *start, *frames, *adapter[KL_IMAGE_ADAPTER];
	unsigned char *data; /* data and bss, which are all that the code can change */
	uint64_t data_bytes;
};

/**
 * Return the address of the function or variable `name` of this process; NULL if the process has no
 * such function or variable.
 */
typedef void *(*kl_image_find)(const char *name, void *payload);

/**
 * Map the image of `len` bytes in the file `fd`, with KL_IMAGE_GUARD inaccessible bytes on both
 * sides. `find` is called with `payload` for each name that the image imports; if `find` is NULL,
 * the image must not import names. Return KL_EINVALID if the file is not a valid image, or `find`
 * does not find a name. Return KL_EIO if the system cannot map the file.
 */
int kl_image_map(struct kl_image_mapped *out, int fd, size_t len, kl_image_find find,
		 void *payload);
void kl_image_unmap(struct kl_image_mapped *mapped);

#define KL_IMAGE_GUARD ((uint64_t)64 << 20)

#endif
