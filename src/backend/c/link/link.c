/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/link/link.h"

#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "backend/c/link/link_parts.h"
#include "base/error.h"

#define MAX_OBJECTS 4096

static void object_release(struct kl_link_object *object)
{
	if (object->mine)
		kl_object_free(object->mine);
	free(object->sec);
	free(object->target);
	free(object->word);
	free(object->stub);
	free(object->common);
}

static void linker_release(struct kl_linker *linker)
{
	for (size_t i = 0; i < linker->nobject; i++)
		object_release(&linker->object[i]);
	for (size_t i = 0; i < linker->nimport; i++)
		free(linker->import[i]);
	for (size_t i = 0; i < KL_ARRAY_SIZE(linker->segment); i++)
		free(linker->segment[i]);
	free(linker->object);
	kl_symbol_index_release(&linker->own);
	kl_map_release(&linker->trusted);
	free(linker->todo);
	free(linker->word);
	free(linker->import);
	free(linker->stub);
	free(linker->address);
	free(linker->thread);
	free(linker->slot);
	kl_buf_release(&linker->names);
}

int kl_link_failed(const struct kl_linker *linker, size_t obj, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (linker->object[obj].own)
		return kl_error(KL_ENO, "linking: %s", text);
	return kl_error(KL_ECANNOT, "the system's libraries cannot be linked: %s (in '%s')", text,
			linker->object[obj].object->path);
}

/* -- adding objects and marking sections ------------------------------------------------------- */

/* Return the segment of a section; KL_LINK_NOWHERE if an image has no such sections. */
static int segment_of(const struct kl_osec *section)
{
	if (!(section->flags & SHF_ALLOC) || section->flags & (SHF_TLS | SHF_COMPRESSED))
		return KL_LINK_NOWHERE;
	if (section->type == SHT_NOBITS)
		return section->flags & SHF_EXECINSTR ? KL_LINK_NOWHERE : KL_LINK_BSS;
	if ((section->type != SHT_PROGBITS && section->type != SHT_X86_64_UNWIND) || !section->data)
		return KL_LINK_NOWHERE;
	if (section->flags & SHF_EXECINSTR)
		return section->flags & SHF_WRITE ? KL_LINK_NOWHERE : KL_LINK_TEXT;
	return kl_osec_is_writable(section) ? KL_LINK_DATA : KL_LINK_RODATA;
}

void kl_link_add(struct kl_linker *linker, const struct kl_object *object, struct kl_object *mine,
		 bool own)
{
	struct kl_link_object *added;

	KL_GROW(linker->object, linker->nobject + 1, linker->alloc_object);
	added = &linker->object[linker->nobject++];
	*added = (struct kl_link_object){ .object = object, .mine = mine, .own = own };
	added->sec = kl_calloc(object->nsec + 1, sizeof(*added->sec));
	added->target = kl_calloc(object->nsym + 1, sizeof(*added->target));
	added->word = kl_calloc(object->nsym + 1, sizeof(*added->word));
	added->stub = kl_calloc(object->nsym + 1, sizeof(*added->stub));
	added->common = kl_calloc(object->nsym + 1, sizeof(*added->common));
	for (size_t i = 0; i < object->nsec; i++)
		added->sec[i].segment = segment_of(&object->sec[i]);
}

int kl_link_mark(struct kl_linker *linker, size_t obj, size_t sec)
{
	struct kl_link_section *section = &linker->object[obj].sec[sec];

	if (section->live)
		return 0;
	if (section->segment == KL_LINK_NOWHERE)
		return kl_link_failed(linker, obj,
				      "a reference to section '%.100s', which is not linked",
				      linker->object[obj].object->sec[sec].name);
	section->live = true;
	KL_GROW(linker->todo, linker->ntodo + 1, linker->alloc_todo);
	linker->todo[linker->ntodo++] = (uint64_t)obj << 32 | sec;
	return 0;
}

/* -- finding the live sections ----------------------------------------------------------------- */

static int follow_relocation(struct kl_linker *linker, size_t obj, size_t rel)
{
	struct kl_orel orel = linker->object[obj].object->rel[rel];
	struct kl_link_target target;
	int err;

	if (orel.type == R_X86_64_NONE)
		return 0;
	err = kl_link_resolve(&target, linker, obj, orel.sym);
	if (!err && target.kind == KL_LINK_PLACE)
		err = kl_link_mark(linker, target.obj, target.sec);
	return err ? err : kl_link_need(linker, obj, &orel, &target);
}

static int follow_section(struct kl_linker *linker, size_t obj, size_t sec)
{
	const struct kl_object *object = linker->object[obj].object;
	int err = 0;

	for (size_t i = kl_object_rel_at(object, sec, 0);
	     !err && i < object->nrel && object->rel[i].sec == sec; i++)
		err = follow_relocation(linker, obj, i);
	if (!err && linker->nobject > MAX_OBJECTS)
		err = kl_link_failed(linker, obj, "the kernel needs more than %d objects",
				     MAX_OBJECTS);
	return err;
}

static int follow_all(struct kl_linker *linker)
{
	int err = 0;

	while (!err && linker->ntodo) {
		uint64_t next = linker->todo[--linker->ntodo];

		err = follow_section(linker, next >> 32, next & UINT32_MAX);
	}
	return err;
}

/* Find a static function of the kernel's objects. */
static bool find_static(size_t *obj, size_t *sym, const struct kl_linker *linker, const char *name)
{
	for (*obj = 0; *obj < linker->of->nobject; ++*obj) {
		const struct kl_object *object = linker->object[*obj].object;

		for (*sym = 0; *sym < object->nsym; ++*sym)
			if (object->sym[*sym].type == STT_FUNC && object->sym[*sym].sec >= 0 &&
			    !strcmp(object->sym[*sym].name, name))
				return true;
	}
	return false;
}

/*
 * Find a name whose offset is stored in the image: first among the global symbols of the objects,
 * then in the runtime, then among the static functions of the objects.
 */
static int find_root(struct kl_link_target *out, struct kl_linker *linker, const char *name)
{
	size_t obj, sym;

	if (!kl_link_find_own(&obj, &sym, linker, name) &&
	    !kl_link_find_known(&obj, &sym, linker, name) && !find_static(&obj, &sym, linker, name))
		return kl_error(KL_ENO, "linking: '%s' is not defined", name);
	return kl_link_resolve(out, linker, obj, sym);
}

static int mark_root(struct kl_linker *linker, const char *name)
{
	struct kl_link_target target;
	int err = name ? find_root(&target, linker, name) : 0;

	if (!err && name && target.kind == KL_LINK_PLACE)
		err = kl_link_mark(linker, target.obj, target.sec);
	return err;
}

static int mark_whole(struct kl_linker *linker)
{
	int err = 0;

	for (size_t k = 0; k < linker->of->nobject; k++)
		for (size_t i = 0; !err && i < linker->object[k].object->nsec; i++)
			if (linker->object[k].sec[i].segment != KL_LINK_NOWHERE)
				err = kl_link_mark(linker, k, i);
	return err;
}

static int mark_all(struct kl_linker *linker)
{
	const struct kl_link *of = linker->of;
	int err = mark_root(linker, of->entry);

	if (!err)
		err = mark_root(linker, of->arena);
	if (!err)
		err = mark_root(linker, of->dims);
	if (!err)
		err = mark_root(linker, of->start);
	for (size_t i = 0; !err && i < KL_IMAGE_ADAPTER; i++)
		err = mark_root(linker, of->adapter[i]);
	if (!err && of->whole)
		err = mark_whole(linker);
	return err ? err : follow_all(linker);
}

/* -- writing the image ------------------------------------------------------------------------- */

static int add_inputs(struct kl_linker *linker)
{
	const struct kl_link *of = linker->of;
	const char *twice;

	kl_symbol_index_build(&linker->own, of->object, of->nobject);
	for (size_t k = 0; k < of->nobject; k++)
		kl_link_add(linker, of->object[k], NULL, true);
	if (of->runtime)
		kl_link_add_trusted(linker, of->runtime, NULL);
	twice = kl_symbol_index_clash(&linker->own);
	return twice ? kl_error(KL_ENO, "linking: '%s' is defined twice", twice) : 0;
}

/*
 * Get the offset of a function (`code`) or variable in the image; KL_IMAGE_NONE if `name` is NULL.
 */
static int state_offset(uint64_t *out, struct kl_linker *linker, const char *name, bool code)
{
	struct kl_link_target target;
	int err = name ? find_root(&target, linker, name) : 0;

	*out = KL_IMAGE_NONE;
	if (err || !name)
		return err;
	if (target.kind != KL_LINK_PLACE ||
	    (code && (linker->object[target.obj].sec[target.sec].segment != KL_LINK_TEXT ||
		      target.value >= linker->object[target.obj].object->sec[target.sec].size)))
		return kl_error(KL_ENO, "linking: '%s' is not a %s", name,
				code ? "function" : "variable");
	*out = kl_link_offset(linker, &target);
	return 0;
}

static int state_offsets(struct kl_linker *linker)
{
	const struct kl_link *of = linker->of;
	struct kl_image *image = &linker->image;
	int err = state_offset(&image->entry, linker, of->entry, true);

	if (!err)
		err = state_offset(&image->start, linker, of->start, true);
	for (size_t i = 0; !err && i < KL_IMAGE_ADAPTER; i++)
		err = state_offset(&image->adapter[i], linker, of->adapter[i], true);
	if (!err)
		err = state_offset(&image->arena, linker, of->arena, false);
	return err ? err : state_offset(&image->dims, linker, of->dims, false);
}

/*
 * Check that the worker can read the image: sizes or offsets in an object can make it invalid.
 */
static int check_image(const struct kl_buf *bytes)
{
	struct kl_image image;

	return kl_image_read(&image, bytes->ptr, bytes->len) < 0 ?
		       kl_error(KL_ENO, "linking: %s", kl_error_last()) :
		       0;
}

int kl_link(struct kl_buf *out, const struct kl_link *of)
{
	KL_AUTO(linker_release) struct kl_linker linker = { .of = of, .names = KL_BUF_INIT };
	int err = add_inputs(&linker);

	if (!err)
		err = mark_all(&linker);
	if (!err)
		err = kl_link_place(&linker);
	if (!err)
		err = state_offsets(&linker);
	if (!err)
		err = kl_link_patch(&linker);
	if (err < 0)
		return err;
	kl_image_write(out, &linker.image);
	return check_image(out);
}
