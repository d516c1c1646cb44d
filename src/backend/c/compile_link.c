/* SPDX-License-Identifier: Apache-2.0 */
/* compile_link - links the objects of a build to an image, and checks the linked code */
#include <string.h>

#include "backend/c/adapter.h"
#include "backend/c/code/hidden.h"
#include "backend/c/code/isa.h"
#include "backend/c/compile_parts.h"
#include "backend/c/link/link.h"
#include "base/error.h"
#include "image/code_check.h"
#include "image/openmp_symbols.h"

/* maximum number of layouts of an image to try */
#define MOST_SHIFTS 8u

/* Return `name` if this half of the adapter defines the function, otherwise NULL. */
static const char *linked_name(const struct kl_object *half, const char *name)
{
	return half && kl_adapter_has(half, name) ? name : NULL;
}

static void link_adapter(struct kl_link *link, const struct kl_build *build)
{
	if (!build->adapter)
		return;
	link->adapter[KL_IMAGE_PREPARE] = linked_name(build->obj[build->nobj - 1],
						      KL_ADAPTER_PREPARE);
	link->adapter[KL_IMAGE_PACK] = linked_name(build->untimed, KL_ADAPTER_PACK);
	link->adapter[KL_IMAGE_FINISH] = linked_name(build->untimed, KL_ADAPTER_FINISH);
}

static int link_objects(struct kl_buf *out, struct kl_build *build, unsigned shift)
{
	KL_AUTO(kl_freep) struct kl_object **object = kl_calloc(build->nobj + 1, sizeof(*object));
	struct kl_link link = {
		.object = (const struct kl_object *const *)object,
		.nobject = build->nobj + !!build->untimed,
		.runtime = build->tools->runtime,
		.libraries = build->tools->libraries,
		.level = kl_isa_level(build->tools->platform->march),
		.entry = build->entry,
		.arena = "kl_rt_arena",
		.shift = shift,
		.traps = kl_build_traps(build),
		.may_import = build->contract && build->contract->threads ? kl_openmp_symbol : NULL,
	};
	int err;

	memcpy(object, build->obj, build->nobj * sizeof(*object));
	object[build->nobj] = build->untimed;
	link_adapter(&link, build);
	err = kl_link(out, &link);
	if (err == KL_ENO)
		*build->class_ = "compile";
	return err;
}

/*
 * Check the linked code again, because linking filled in references that the audit of the objects
 * did not see.
 */
static int check_image(struct kl_build *build, const struct kl_image *image)
{
	int err = kl_code_check(image);

	if (!err)
		err = kl_code_check_hidden(&build->code, image->bytes[0], (size_t)image->text);
	return kl_build_failed(build, err, "the kernel");
}

static int link_shifted(struct kl_buf *bytes, struct kl_image *image, struct kl_build *build,
			unsigned shift)
{
	int err;

	kl_buf_clear(bytes);
	err = link_objects(bytes, build, shift);
	return err ? err : kl_image_read(image, bytes->ptr, bytes->len);
}

/*
 * Link. If the linked code contains the bytes of a hidden instruction (hidden.h), link again with
 * another layout, because the bytes can be a distance between two places, which is not the source's
 * fault. If no layout helps, the bytes come from the source, and check_image() reports them.
 */
int kl_build_link(struct kl_buf *bytes, struct kl_build *build)
{
	struct kl_image image;
	bool hides = true;
	int err = 0;

	for (unsigned shift = 0; !err && hides && shift < MOST_SHIFTS; shift++) {
		size_t at = 0;

		err = link_shifted(bytes, &image, build, shift);
		hides = !err && kl_hidden_find(&at, image.bytes[0], (size_t)image.text);
	}
	if (!err && hides)
		err = link_shifted(bytes, &image, build, 0);
	return err ? err : check_image(build, &image);
}
