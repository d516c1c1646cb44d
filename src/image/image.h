/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_IMAGE_IMAGE_H
#define KL_IMAGE_IMAGE_H

#include "base/buf.h"

/*
 * image - a flat image of machine code: what the gate makes of an audited kernel, and the worker
 * maps and calls (docs/formats.md, "Image").
 *
 * An image has four segments, one behind the other in memory, each on pages of its own: text (never
 * writable), rodata, data, and bss (both never executable). It has no sections, symbols or dynamic
 * section, and nothing in it runs before its entry is called: what a loader has to do is in a few
 * lists of offsets, all computed by the gate.
 *
 *	text   own code first, then code of the system's libraries (libm, memcpy ...)
 *	data   the part of the data that is not zero; bss follows without a gap
 *
 * An image that is read can come from anywhere. kl_image_read() checks all of it, so that code that
 * uses the result needs no further check.
 */
#define KL_IMAGE_PAGE ((uint64_t)4096)
#define KL_IMAGE_MAX_BYTES ((size_t)256 << 20)  /* of the file */
#define KL_IMAGE_MAX_MEMORY ((uint64_t)2 << 30) /* of all segments */
#define KL_IMAGE_MAX_ALIGN ((uint64_t)2 << 20)
#define KL_IMAGE_MAX_ITEMS ((uint64_t)4 << 20) /* of each list */
#define KL_IMAGE_MAX_NAMES ((uint64_t)1 << 20) /* bytes */
#define KL_IMAGE_NONE UINT64_MAX               /* instead of an offset: there is none */
#define KL_IMAGE_REACH ((int64_t)1 << 40)      /* largest distance of a target from the image */

/* One word of rodata or data that the loader fills in. Offsets are relative to the image. */
struct kl_image_slot {
	uint64_t at;
	int64_t to;
};

struct kl_image_import {
	uint64_t at;
	uint32_t name; /* offset of a name in `names` */
	int32_t add;
};

/* The contents of an image. Pointers refer to the bytes that it was read from. */
struct kl_image {
	uint64_t text, rodata, data, bss; /* bytes of each segment in memory; data without bss */
	uint64_t align;                   /* of the image in memory: a power of two */
	uint64_t own;                     /* bytes of text that are the kernel's own */
	uint64_t entry;                   /* offset of the function that is called, in text */
	uint64_t arena;  /* offset of the allocator's base and size (16 bytes); or NONE */
	uint64_t dims;   /* offset of the array of dims of host code (128 bytes); or NONE */
	uint64_t start;  /* offset of a function to call before the entry; or NONE */
	uint64_t frames; /* offset of the tables for exceptions, up to the end of rodata; or NONE */
	const unsigned char *bytes[3]; /* of text, rodata, data */
	/* the address of `to` */
	const struct kl_image_slot *address;
	/* the distance of `to` from the thread pointer, for the errno of library code */
	const struct kl_image_slot *thread;
	/* the address of a function or variable of the process, by its name */
	const struct kl_image_import *import;
	uint64_t naddress, nthread, nimport;
	const char *names; /* each ends with a NUL */
	uint64_t nnames;   /* bytes */
};

/** Offset of a segment in memory: 0 text, 1 rodata, 2 data with bss; 3: the end. Whole pages. */
uint64_t kl_image_offset(const struct kl_image *image, int segment);
/** Offset in the file of the byte at `offset` of the memory, which must not be bss. */
uint64_t kl_image_file_offset(uint64_t offset);

/**
 * Read and check an image; *out borrows `bytes`, which must be aligned to 8. KL_EINVALID: it is no
 * image, or a part of it is out of bounds; the message says which.
 */
int kl_image_read(struct kl_image *out, const void *bytes, size_t len);
/** Write an image, whose offsets and lists must obey the rules of the format. */
void kl_image_write(struct kl_buf *out, const struct kl_image *image);

#endif
