/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_IMAGE_IMAGE_MAP_H
#define KL_IMAGE_IMAGE_MAP_H

#include "image/image.h"

/*
 * image_map - maps an image into this process and fills in its addresses. Text is never writable,
 * data is never executable, and no byte of the image runs.
 *
 * The functions make no system calls but mmap, mprotect and munmap, so that a process can confine
 * itself first. The file must not change meanwhile: base/sealed.h makes one that cannot.
 */
struct kl_image_mapped {
	unsigned char *base; /* of the text; NULL: not mapped */
	uint64_t size;       /* of all segments */
	void *range;         /* everything that is reserved, guards included */
	uint64_t range_bytes;
	/* from the image; offsets as addresses, NULL if there is none */
	unsigned char *entry, *arena, *dims, *start, *frames;
	unsigned char *data; /* data and bss: all that the code can change */
	uint64_t data_bytes;
};

/** Find a function or variable of this process; NULL: it has none of that name. */
typedef void *(*kl_image_find)(const char *name, void *payload);

/**
 * Map the image of `len` bytes in the file `fd`, with KL_IMAGE_GUARD unmapped bytes on both sides.
 * `find` is called for each name that the image imports; NULL: it may import none. KL_EINVALID: it
 * is no valid image, or it imports what `find` does not know; KL_EIO: no memory.
 */
int kl_image_map(struct kl_image_mapped *out, int fd, size_t len, kl_image_find find,
		 void *payload);
void kl_image_unmap(struct kl_image_mapped *mapped);

#define KL_IMAGE_GUARD ((uint64_t)64 << 20)

#endif
