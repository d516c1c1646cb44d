/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static const char magic[8] = "klimage\1";

/* The head of the file, which is padded with zeros to a page. All numbers are little-endian. */
struct head {
	char magic[8];
	uint64_t text, rodata, data, bss, align, own, entry, arena, dims, start, frames;
	uint64_t naddress, nthread, nimport, nnames;
	uint64_t len; /* bytes of the file */
	/*
	 * offsets of the adapter's functions, plus 1; 0 if there is none. In an image without an
	 * adapter, these members are zero, like the padding after them
	 */
	uint64_t adapter[KL_IMAGE_ADAPTER];
};

_Static_assert(sizeof(struct head) == 160, "no padding");
_Static_assert(sizeof(struct kl_image_slot) == 16, "no padding");
_Static_assert(sizeof(struct kl_image_import) == 16, "no padding");

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + KL_IMAGE_PAGE - 1) & ~(KL_IMAGE_PAGE - 1);
}

uint64_t kl_image_offset(const struct kl_image *image, int segment)
{
	uint64_t offset = 0;

	if (segment > 0)
		offset += whole_pages(image->text);
	if (segment > 1)
		offset += whole_pages(image->rodata);
	if (segment > 2)
		offset += whole_pages(image->data + image->bss);
	return offset;
}

uint64_t kl_image_file_offset(uint64_t offset)
{
	return KL_IMAGE_PAGE + offset;
}

static int bad_image(const char *what)
{
	return kl_error(KL_EINVALID, "is not a valid image: %s", what);
}

/* -- reading and checking an image ----------------------------------------------------------- */

static bool all_zero(const unsigned char *bytes, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (bytes[i])
			return false;
	return true;
}

/* Return the size in bytes of the lists and names that follow the segments in the file. */
static uint64_t list_bytes(const struct kl_image *image)
{
	return (image->naddress + image->nthread) * sizeof(struct kl_image_slot) +
	       image->nimport * sizeof(struct kl_image_import) + image->nnames;
}

static uint64_t segment_bytes(const struct kl_image *image)
{
	return kl_image_file_offset(kl_image_offset(image, 2) + whole_pages(image->data));
}

/*
 * Check the sizes in the head before anything else, so that later sums cannot overflow. `claimed`
 * is the size of the file according to its head, `len` its real size.
 */
static int check_sizes(const struct kl_image *image, uint64_t claimed, size_t len)
{
	const uint64_t size[] = { image->text, image->rodata, image->data, image->bss };

	for (size_t i = 0; i < KL_ARRAY_SIZE(size); i++)
		if (size[i] > KL_IMAGE_MAX_MEMORY)
			return bad_image("a segment is too large");
	if (kl_image_offset(image, 3) > KL_IMAGE_MAX_MEMORY)
		return bad_image("the image needs too much memory");
	if (image->align < KL_IMAGE_PAGE || image->align > KL_IMAGE_MAX_ALIGN ||
	    image->align & (image->align - 1))
		return bad_image("the alignment is not a power of two from 4096 bytes to 2 MiB");
	if (image->naddress > KL_IMAGE_MAX_ITEMS || image->nthread > KL_IMAGE_MAX_ITEMS ||
	    image->nimport > KL_IMAGE_MAX_ITEMS || image->nnames > KL_IMAGE_MAX_NAMES)
		return bad_image("a list is too long");
	if (claimed != len || segment_bytes(image) + list_bytes(image) != len)
		return bad_image("the length of the file does not match its head");
	return 0;
}

/* Return true if the bytes [at, at + n) lie in the range of data and bss. */
static bool in_data(const struct kl_image *image, uint64_t at, uint64_t n)
{
	uint64_t from = kl_image_offset(image, 2), size = image->data + image->bss;

	return at >= from && size >= n && at - from <= size - n;
}

/*
 * Return true if the exception tables, which start at `at`, are in rodata, and the last word of
 * rodata is zero.
 */
static bool ends_in_rodata(const struct kl_image *image, uint64_t at)
{
	uint64_t from = kl_image_offset(image, 1);

	return at >= from && at % 4 == 0 && image->rodata >= 4 && image->rodata % 4 == 0 &&
	       at - from <= image->rodata - 4 && all_zero(image->bytes[1] + image->rodata - 4, 4);
}

static int check_offsets(const struct kl_image *image)
{
	if (!image->text || image->own > image->text || !image->own)
		return bad_image("the image has no code of its own");
	if (image->entry >= image->own)
		return bad_image("the entry lies outside the code");
	if (image->start != KL_IMAGE_NONE && image->start >= image->own)
		return bad_image("the start function lies outside the code");
	for (size_t i = 0; i < KL_IMAGE_ADAPTER; i++)
		if (image->adapter[i] != KL_IMAGE_NONE && image->adapter[i] >= image->own)
			return bad_image("a function of the adapter lies outside the code");
	if (image->arena != KL_IMAGE_NONE &&
	    (image->arena % 8 || !in_data(image, image->arena, 16)))
		return bad_image("the arena is not aligned, or lies outside the data");
	if (image->dims != KL_IMAGE_NONE && (image->dims % 8 || !in_data(image, image->dims, 128)))
		return bad_image("the dims are not aligned, or lie outside the data");
	/* the unwinder reads the tables up to a zero word, so they must end with one */
	if (image->frames != KL_IMAGE_NONE && !ends_in_rodata(image, image->frames))
		return bad_image(
			"the exception tables do not end with a zero word at the end of rodata");
	return 0;
}

/* Return true if the 8 bytes at `at` are in rodata or data, and not in bss. */
static bool is_slot(const struct kl_image *image, uint64_t at)
{
	uint64_t rodata = kl_image_offset(image, 1), data = kl_image_offset(image, 2);

	if (at >= data)
		return image->data >= 8 && at - data <= image->data - 8;
	return at >= rodata && image->rodata >= 8 && at - rodata <= image->rodata - 8;
}

/*
 * Check the slot at offset `at`. It must not begin before *next, the end of the slot before it; set
 * *next to its own end.
 */
static int check_slot(const struct kl_image *image, uint64_t at, uint64_t *next)
{
	if (!is_slot(image, at) || at < *next)
		return bad_image(
			"a word that the loader fills in lies outside rodata and data, or is "
			"out of order");
	*next = at + 8;
	return 0;
}

static int check_slots(const struct kl_image *image, const struct kl_image_slot *slot, uint64_t n)
{
	uint64_t next = 0;
	int err = 0;

	for (uint64_t i = 0; !err && i < n; i++) {
		err = check_slot(image, slot[i].at, &next);
		if (!err && (slot[i].to > KL_IMAGE_REACH || slot[i].to < -KL_IMAGE_REACH))
			err = bad_image("an address is too far from the image");
	}
	return err;
}

static int check_imports(const struct kl_image *image)
{
	uint64_t next = 0;
	int err = 0;

	if (image->nnames && (image->names[image->nnames - 1] || !image->names[0]))
		return bad_image("the list of names is malformed");
	for (uint64_t i = 0; !err && i < image->nimport; i++) {
		err = check_slot(image, image->import[i].at, &next);
		if (!err && (image->import[i].name >= image->nnames ||
			     (image->import[i].name && image->names[image->import[i].name - 1])))
			err = bad_image("an import has no name in the list of names");
	}
	return err;
}

/*
 * Check that the padding after the head and after each segment is zero, so that nothing can be
 * hidden there. The loader maps the padding of a segment with the segment.
 */
static int check_padding(const struct kl_image *image, const unsigned char *file)
{
	const uint64_t size[] = { image->text, image->rodata, image->data };

	if (!all_zero(file + sizeof(struct head), KL_IMAGE_PAGE - sizeof(struct head)))
		return bad_image("the head has unknown members");
	for (int i = 0; i < 3; i++)
		if (!all_zero(image->bytes[i] + size[i], whole_pages(size[i]) - size[i]))
			return bad_image("the padding after a segment is not zero");
	return 0;
}

static void place_parts(struct kl_image *image, const unsigned char *file)
{
	const unsigned char *at = file + segment_bytes(image);

	for (int i = 0; i < 3; i++)
		image->bytes[i] = file + kl_image_file_offset(kl_image_offset(image, i));
	image->address = (const struct kl_image_slot *)at;
	image->thread = image->address + image->naddress;
	image->import = (const struct kl_image_import *)(image->thread + image->nthread);
	image->names = (const char *)(image->import + image->nimport);
}

int kl_image_read(struct kl_image *out, const void *bytes, size_t len)
{
	const unsigned char *file = bytes;
	struct kl_image image;
	struct head head;
	int err;

	if (len < KL_IMAGE_PAGE || len > KL_IMAGE_MAX_BYTES ||
	    memcmp(file, magic, sizeof(magic)) != 0)
		return bad_image("not an image file");
	memcpy(&head, file, sizeof(head));
	image = (struct kl_image){
		.text = head.text,
		.rodata = head.rodata,
		.data = head.data,
		.bss = head.bss,
		.align = head.align,
		.own = head.own,
		.entry = head.entry,
		.arena = head.arena,
		.dims = head.dims,
		.start = head.start,
		.frames = head.frames,
		.naddress = head.naddress,
		.nthread = head.nthread,
		.nimport = head.nimport,
		.nnames = head.nnames,
	};
	for (size_t i = 0; i < KL_IMAGE_ADAPTER; i++)
		image.adapter[i] = head.adapter[i] - 1; /* 0 becomes KL_IMAGE_NONE */
	if ((err = check_sizes(&image, head.len, len)) < 0)
		return err;
	place_parts(&image, file);
	if ((err = check_offsets(&image)) < 0 || (err = check_padding(&image, file)) < 0 ||
	    (err = check_slots(&image, image.address, image.naddress)) < 0 ||
	    (err = check_slots(&image, image.thread, image.nthread)) < 0 ||
	    (err = check_imports(&image)) < 0)
		return err;
	*out = image;
	return 0;
}

/* -- writing an image ------------------------------------------------------------------------ */

static void add_padded(struct kl_buf *out, const void *bytes, uint64_t n)
{
	static const char zero[4096];

	kl_buf_add(out, bytes, n);
	kl_buf_add(out, zero, whole_pages(n) - n);
}

void kl_image_write(struct kl_buf *out, const struct kl_image *image)
{
	struct head head = {
		.text = image->text,
		.rodata = image->rodata,
		.data = image->data,
		.bss = image->bss,
		.align = image->align,
		.own = image->own,
		.entry = image->entry,
		.arena = image->arena,
		.dims = image->dims,
		.start = image->start,
		.frames = image->frames,
		.naddress = image->naddress,
		.nthread = image->nthread,
		.nimport = image->nimport,
		.nnames = image->nnames,
		.len = segment_bytes(image) + list_bytes(image),
	};

	for (size_t i = 0; i < KL_IMAGE_ADAPTER; i++)
		head.adapter[i] = image->adapter[i] + 1;
	memcpy(head.magic, magic, sizeof(magic));
	kl_buf_clear(out);
	kl_buf_reserve(out, head.len);
	add_padded(out, &head, sizeof(head));
	add_padded(out, image->bytes[0], image->text);
	add_padded(out, image->bytes[1], image->rodata);
	add_padded(out, image->bytes[2], image->data);
	kl_buf_add(out, image->address, image->naddress * sizeof(*image->address));
	kl_buf_add(out, image->thread, image->nthread * sizeof(*image->thread));
	kl_buf_add(out, image->import, image->nimport * sizeof(*image->import));
	kl_buf_add(out, image->names, image->nnames);
}
