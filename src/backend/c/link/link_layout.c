/* SPDX-License-Identifier: Apache-2.0 */
/* link_layout - places the live sections of a link in the segments of the image */
#include <string.h>

#include "backend/c/link/link_parts.h"
#include "base/error.h"

#define STUB_BYTES 8
#define FRAME_ALIGN 8
#define LIBRARY_ALIGN 64 /* alignment of the first byte of library code */
#define SHIFT_BYTES 64   /* gap between functions for each step of `shift` */

static bool is_power_of_two(uint64_t value)
{
	return value && !(value & (value - 1));
}

static uint64_t align_up(uint64_t value, uint64_t align)
{
	return (value + align - 1) & ~(align - 1);
}

static int too_large(void)
{
	return kl_error(KL_ENO, "linking: the code and data are too large");
}

/*
 * Reserve `bytes` bytes at the next aligned offset, which is *cursor or higher. Set *at to that
 * offset, and *cursor to the end of the bytes.
 */
static int reserve_bytes(uint64_t *at, uint64_t *cursor, uint64_t bytes, uint64_t align)
{
	if (bytes > KL_IMAGE_MAX_MEMORY || *cursor > KL_IMAGE_MAX_MEMORY)
		return too_large();
	*at = align_up(*cursor, align);
	*cursor = *at + bytes;
	return 0;
}

static int check_align(struct kl_linker *linker, size_t obj, const char *name, uint64_t align)
{
	if (!is_power_of_two(align) || align > KL_IMAGE_MAX_ALIGN)
		return kl_link_failed(linker, obj, "'%.100s' cannot be aligned to %llu bytes", name,
				      (unsigned long long)align);
	if (align > linker->image.align)
		linker->image.align = align;
	return 0;
}

static int place_section(struct kl_linker *linker, size_t obj, size_t sec, uint64_t *cursor)
{
	const struct kl_osec *section = &linker->object[obj].object->sec[sec];
	uint64_t align = section->align ? section->align : 1;
	int err = check_align(linker, obj, section->name, align);

	return err ? err :
		     reserve_bytes(&linker->object[obj].sec[sec].at, cursor, section->size, align);
}

/*
 * Return true if the section is an exception table, which is placed after all other constants. A
 * section of code or variables is not an exception table, even if it has the name of one.
 */
static bool is_frames(const struct kl_linker *linker, size_t obj, size_t sec)
{
	return linker->of->frames && linker->object[obj].sec[sec].segment == KL_LINK_RODATA &&
	       !strcmp(linker->object[obj].object->sec[sec].name, ".eh_frame");
}

/* Place the exception tables one after the other, and the terminating zero word. */
static int place_frames(struct kl_linker *linker, uint64_t *cursor)
{
	uint64_t at = 0;
	int err = 0;

	linker->image.frames = KL_IMAGE_NONE;
	if (!linker->of->frames)
		return 0;
	*cursor = align_up(*cursor, FRAME_ALIGN);
	linker->image.frames = *cursor;
	for (size_t k = 0; k < linker->nobject; k++)
		for (size_t i = 0; !err && i < linker->object[k].object->nsec; i++)
			if (linker->object[k].sec[i].live && is_frames(linker, k, i))
				err = place_section(linker, k, i, cursor);
	return err ? err : reserve_bytes(&at, cursor, sizeof(uint32_t), sizeof(uint32_t));
}

/*
 * Place the live sections of a segment: those of the kernel's objects (`own`), or those of the
 * runtime and the libraries.
 */
static int place_sections(struct kl_linker *linker, int segment, bool own, uint64_t *cursor)
{
	int err = 0;

	for (size_t k = 0; k < linker->nobject; k++) {
		const struct kl_link_object *object = &linker->object[k];

		if (object->own != own)
			continue;
		for (size_t i = 0; !err && i < object->object->nsec; i++) {
			if (!object->sec[i].live || object->sec[i].segment != segment ||
			    is_frames(linker, k, i))
				continue;
			if (segment == KL_LINK_TEXT)
				*cursor += linker->of->shift * SHIFT_BYTES;
			err = place_section(linker, k, i, cursor);
		}
	}
	return err;
}

static int place_both(struct kl_linker *linker, int segment, uint64_t *cursor)
{
	int err = place_sections(linker, segment, true, cursor);

	return err ? err : place_sections(linker, segment, false, cursor);
}

/* Place a common symbol. In ELF, the value of such a symbol is its alignment. */
static int place_common(struct kl_linker *linker, size_t obj, size_t sym, uint64_t *cursor)
{
	const struct kl_osym *symbol = &linker->object[obj].object->sym[sym];
	uint64_t align = symbol->value ? symbol->value : 1;
	int err = check_align(linker, obj, symbol->name, align);

	return err ? err :
		     reserve_bytes(&linker->object[obj].common[sym], cursor, symbol->size, align);
}

static int place_commons(struct kl_linker *linker, uint64_t *cursor)
{
	int err = 0;

	for (size_t k = 0; k < linker->nobject; k++)
		for (size_t i = 0; !err && i < linker->object[k].object->nsym; i++)
			if (linker->object[k].object->sym[i].sec == KL_SYM_COMMON)
				err = place_common(linker, k, i, cursor);
	return err;
}

/*
 * Place the text: the kernel's code, then the jumps to imports, then the code of the runtime and
 * the libraries.
 */
static int place_text(struct kl_linker *linker)
{
	uint64_t cursor = 0;
	int err = place_sections(linker, KL_LINK_TEXT, true, &cursor);

	cursor = align_up(cursor, LIBRARY_ALIGN) + linker->of->shift * KL_IMAGE_PAGE;
	linker->image.own = cursor;
	linker->stubs = cursor;
	cursor += linker->nstub * STUB_BYTES;
	if (!err)
		err = place_sections(linker, KL_LINK_TEXT, false, &cursor);
	linker->image.text = cursor;
	return err;
}

int kl_link_place(struct kl_linker *linker)
{
	struct kl_image *image = &linker->image;
	uint64_t begin, cursor;
	int err;

	image->align = KL_IMAGE_PAGE;
	if ((err = place_text(linker)) < 0)
		return err;
	begin = kl_image_offset(image, 1);
	linker->table = cursor = begin + linker->of->shift * KL_IMAGE_PAGE;
	cursor += linker->nword * 8;
	if ((err = place_both(linker, KL_LINK_RODATA, &cursor)) < 0 ||
	    (err = place_frames(linker, &cursor)) < 0)
		return err;
	image->rodata = cursor - begin;
	begin = cursor = kl_image_offset(image, 2);
	if ((err = place_both(linker, KL_LINK_DATA, &cursor)) < 0)
		return err;
	image->data = cursor - begin;
	if ((err = place_both(linker, KL_LINK_BSS, &cursor)) < 0 ||
	    (err = place_commons(linker, &cursor)) < 0)
		return err;
	image->bss = cursor - begin - image->data;
	return kl_image_offset(image, 2) > KL_IMAGE_MAX_BYTES / 2 ||
			       image->data > KL_IMAGE_MAX_BYTES / 2 ||
			       cursor > KL_IMAGE_MAX_MEMORY ?
		       too_large() :
		       0;
}

uint64_t kl_link_offset(const struct kl_linker *linker, const struct kl_link_target *target)
{
	const struct kl_link_object *object = &linker->object[target->obj];

	switch (target->kind) {
	case KL_LINK_PLACE:
		return object->sec[target->sec].at + target->value;
	case KL_LINK_COMMON:
		return object->common[target->sec];
	case KL_LINK_TABLE:
		return linker->table;
	case KL_LINK_UNKNOWN:
	case KL_LINK_ZERO:
	case KL_LINK_IMPORT:
		break;
	}
	KL_BUG("a target without an offset");
}
