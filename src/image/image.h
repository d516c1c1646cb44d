/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_IMAGE_IMAGE_H
#define KL_IMAGE_IMAGE_H

#include "base/buf.h"

/*
 * image - reads and writes images of machine code. The gate links an audited kernel into an image;
 * the worker maps the image and calls the kernel (docs/formats.md, "Image").
 *
 * An image has four segments, one after the other in memory: text, which is never writable, then
 * rodata, data and bss, which are never executable. Text, rodata and data start on pages of their
 * own. An image has no sections, symbols or dynamic section, and no constructors or resolvers that
 * would run at load. A few lists of offsets, which the gate computes, tell a loader all that it has
 * to do.
 *
 *	text   the kernel's own code, then code of the system's libraries (libm, memcpy ...)
 *	data   initialized data; bss follows without a gap
 *
 * An image can come from an untrusted source. kl_image_read() checks all its sizes, offsets and
 * lists, so that its callers need not check them again.
 */
#define KL_IMAGE_PAGE ((uint64_t)4096)
#define KL_IMAGE_MAX_BYTES ((size_t)256 << 20)  /* limit of the size of the file */
#define KL_IMAGE_MAX_MEMORY ((uint64_t)2 << 30) /* limit of the bytes of all segments in memory */
#define KL_IMAGE_MAX_ALIGN ((uint64_t)2 << 20)
#define KL_IMAGE_MAX_ITEMS ((uint64_t)4 << 20) /* limit of the items of each list */
#define KL_IMAGE_MAX_NAMES ((uint64_t)1 << 20) /* limit of the bytes of `names` */
#define KL_IMAGE_NONE UINT64_MAX               /* stands for a missing offset */
/* The functions of a contract's adapter that are called outside the timed call. */
enum { KL_IMAGE_PREPARE, KL_IMAGE_PACK, KL_IMAGE_FINISH, KL_IMAGE_ADAPTER };
/* limit of the distance in bytes from the start of the image to a target */
#define KL_IMAGE_REACH ((int64_t)1 << 40)

/*
 * A word of rodata or data, at offset `at`, that the loader fills in to refer to the byte at offset
 * `to`. Offsets are relative to the start of the image.
 */
struct kl_image_slot {
	uint64_t at;
	int64_t to;
};

/* A word, at offset `at`, that receives the address of an imported symbol plus `add`. */
struct kl_image_import {
	uint64_t at;
	uint32_t name; /* offset in `names` of the symbol's name */
	int32_t add;
};

/* The contents of an image. Its pointers point into the bytes that kl_image_read() was given. */
struct kl_image {
	uint64_t text, rodata, data, bss; /* bytes of each segment; data does not include bss */
	uint64_t align;                   /* alignment of the image in memory: a power of two */
	uint64_t own;                     /* bytes of the kernel's own code, at the start of text */
	/* offset of the function to call, in the kernel's own code */
	uint64_t entry;
	uint64_t arena;  /* offset of the arena's base and size (16 bytes); or KL_IMAGE_NONE */
	uint64_t dims;   /* offset of the dims that host code reads (128 bytes); or NONE */
	uint64_t start;  /* offset of the function to call before the entry; or NONE */
	uint64_t frames; /* offset of the exception tables, which end with rodata; or NONE */
	/* offsets of an adapter's functions other than the entry (KL_IMAGE_PREPARE ...); or NONE */
	uint64_t adapter[KL_IMAGE_ADAPTER];
	const unsigned char *bytes[3]; /* bytes of text, rodata and data */
	/* words that receive the address of `to` */
	const struct kl_image_slot *address;
	/*
	 * words that receive the distance of `to` from the thread pointer, for errno in library
	 * code
	 */
	const struct kl_image_slot *thread;
	/* words that receive the address, plus `add`, of a function or variable of the process */
	const struct kl_image_import *import;
	uint64_t naddress, nthread, nimport;
	const char *names; /* names of imports, each with a terminating NUL */
	uint64_t nnames;   /* bytes of `names` */
};

/**
 * Return the offset in memory of a segment: 0 for text, 1 for rodata, 2 for data and bss; 3 for the
 * end of the image. The offset is a multiple of KL_IMAGE_PAGE.
 */
uint64_t kl_image_offset(const struct kl_image *image, int segment);
/** Return the offset in the file of the byte at `offset` in memory, which must not be in bss. */
uint64_t kl_image_file_offset(uint64_t offset);

/**
 * Read and check an image of `len` bytes. *out borrows `bytes`, which must be aligned to 8 bytes.
 * Return KL_EINVALID if the bytes are not an image, or a part of it is out of bounds. The message
 * says which.
 */
int kl_image_read(struct kl_image *out, const void *bytes, size_t len);
/**
 * Write an image to `out`, replacing its contents. The offsets and lists must obey the rules of the
 * format, which are not checked here.
 */
void kl_image_write(struct kl_buf *out, const struct kl_image *image);

#endif
