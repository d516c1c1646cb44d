/* SPDX-License-Identifier: Apache-2.0 */
/* link_resolve - finds the definition of a symbol: in the objects, the libraries or the process */
#include <elf.h>
#include <string.h>

#include "backend/c/link/link_parts.h"
#include "backend/c/link/variant.h"
#include "base/error.h"

#define MAX_IMPORTS 4096
#define TABLE_NAME "_GLOBAL_OFFSET_TABLE_"

void kl_link_add_trusted(struct kl_linker *linker, const struct kl_object *object,
			 struct kl_object *mine)
{
	uint64_t obj = linker->nobject;

	kl_link_add(linker, object, mine, false);
	for (size_t i = 0; i < object->nsym; i++) {
		const struct kl_osym *symbol = &object->sym[i];

		if (symbol->bind != STB_LOCAL && symbol->sec != KL_SYM_UNDEF && symbol->name[0] &&
		    !kl_map_get(&linker->trusted, symbol->name))
			kl_map_put(&linker->trusted, symbol->name,
				   (void *)(uintptr_t)((obj << 32 | i) + 1));
	}
}

bool kl_link_find_known(size_t *obj, size_t *sym, const struct kl_linker *linker, const char *name)
{
	uint64_t at = (uint64_t)(uintptr_t)kl_map_get(&linker->trusted, name);

	if (!at--)
		return false;
	*obj = at >> 32;
	*sym = at & UINT32_MAX;
	return true;
}

/* Add the member of a library that defines a name. Return KL_ENOTFOUND if no member does. */
static int find_member(size_t *obj, size_t *sym, struct kl_linker *linker, const char *name)
{
	struct kl_object *member = NULL;
	int err = linker->of->libraries ? kl_libraries_find(&member, linker->of->libraries, name) :
					  KL_ENOTFOUND;

	if (err < 0)
		return err == KL_ENOTFOUND ? err : kl_error_in(KL_ECANNOT, "'%s'", name);
	kl_link_add_trusted(linker, member, member);
	return kl_link_find_known(obj, sym, linker, name) ? 0 : KL_ENOTFOUND;
}

static int add_import(struct kl_link_target *out, struct kl_linker *linker, const char *name)
{
	*out = (struct kl_link_target){ .kind = KL_LINK_IMPORT };
	for (out->value = 0; out->value < linker->nimport; out->value++)
		if (!strcmp(linker->import[out->value], name))
			return 0;
	if (linker->nimport == MAX_IMPORTS)
		return kl_error(KL_ENO,
				"linking: the kernel uses more than %d functions of libraries",
				MAX_IMPORTS);
	KL_GROW(linker->import, linker->nimport + 1, linker->alloc_import);
	linker->import[linker->nimport++] = kl_strdup(name);
	return 0;
}

/* Set *out to the place of a definition; for an IFUNC, to its form for the level (variant.h). */
static int take_definition(struct kl_link_target *out, struct kl_linker *linker, size_t obj,
			   size_t sym)
{
	const struct kl_object *object = linker->object[obj].object;
	const struct kl_osym *symbol = &object->sym[sym];
	size_t form = 0;
	int err;

	if (symbol->type == STT_GNU_IFUNC) {
		if (linker->object[obj].own)
			return kl_link_failed(linker, obj,
					      "the code of '%s' is selected at load (IFUNC)",
					      symbol->name);
		err = kl_variant_choose(&form, object, sym, linker->of->level);
		return err ? err : kl_link_resolve(out, linker, obj, form);
	}
	if (symbol->sec == KL_SYM_COMMON)
		*out = (struct kl_link_target){ .kind = KL_LINK_COMMON,
						.obj = (uint32_t)obj,
						.sec = (uint32_t)sym };
	else if (symbol->sec >= 0)
		*out = (struct kl_link_target){ .kind = KL_LINK_PLACE,
						.obj = (uint32_t)obj,
						.sec = (uint32_t)symbol->sec,
						.value = symbol->value };
	else
		return kl_link_failed(linker, obj, "'%s' has an absolute address", symbol->name);
	return 0;
}

bool kl_link_find_own(size_t *obj, size_t *sym, const struct kl_linker *linker, const char *name)
{
	const struct kl_symbol_entry *entry = kl_symbol_index_find(&linker->own, name);

	if (!entry)
		return false;
	*obj = entry->obj;
	*sym = entry->sym;
	return true;
}

static bool is_wrapped(const struct kl_linker *linker, const char *name)
{
	for (const char *const *at = linker->of->wrap; at && *at; at++)
		if (!strcmp(*at, name))
			return true;
	return false;
}

/*
 * Rename as ld's option --wrap does: a reference of the kernel to a wrapped `name` becomes one to
 * __wrap_name of the runtime; a reference of the runtime to __real_name becomes one to `name`.
 */
static const char *wrapped_name(char **made, const struct kl_linker *linker, bool own,
				const char *name)
{
	static const char real[] = "__real_";
	size_t n = sizeof(real) - 1;

	if (own && is_wrapped(linker, name))
		return *made = kl_asprintf("__wrap_%s", name);
	if (!own && !strncmp(name, real, n) && is_wrapped(linker, name + n))
		return name + n;
	return name;
}

/* Return the runtime's replacement of a name that is a trap; return any other name unchanged. */
static const char *trapped_name(const struct kl_linker *linker, bool own, const char *name)
{
	size_t obj, sym;

	if (!own || !linker->of->traps || !kl_strvec_has(linker->of->traps, name) ||
	    kl_link_find_own(&obj, &sym, linker, name))
		return name;
	return !strcmp(name, "stderr") || !strcmp(name, "stdout") ? "kl_rt_stream" : "kl_rt_trap";
}

static bool is_import(const struct kl_linker *linker, bool own, const char *name)
{
	return linker->of->may_import && (own || !linker->of->libraries) &&
	       linker->of->may_import(name);
}

static int find_name(struct kl_link_target *out, struct kl_linker *linker, size_t obj, size_t sym)
{
	const struct kl_osym *symbol = &linker->object[obj].object->sym[sym];
	bool own = linker->object[obj].own;
	KL_AUTO(kl_freep) char *made = NULL;
	const char *name = trapped_name(linker, own,
					wrapped_name(&made, linker, own, symbol->name));
	size_t at = obj, index = sym;
	int err;

	if ((own && kl_link_find_own(&at, &index, linker, name)) ||
	    kl_link_find_known(&at, &index, linker, name))
		return take_definition(out, linker, at, index);
	if (is_import(linker, own, name))
		return add_import(out, linker, name);
	err = find_member(&at, &index, linker, name);
	if (!err)
		return take_definition(out, linker, at, index);
	if (err != KL_ENOTFOUND)
		return err;
	if (!strcmp(name, TABLE_NAME))
		out->kind = KL_LINK_TABLE;
	else if (symbol->bind == STB_WEAK)
		out->kind = KL_LINK_ZERO;
	else
		return kl_link_failed(linker, obj, "undefined reference to '%.200s'", name);
	return 0;
}

int kl_link_resolve(struct kl_link_target *out, struct kl_linker *linker, size_t obj, size_t sym)
{
	const struct kl_osym *symbol = &linker->object[obj].object->sym[sym];
	struct kl_link_target target = linker->object[obj].target[sym];
	int err = 0;

	if (target.kind == KL_LINK_UNKNOWN) {
		if (symbol->sec != KL_SYM_UNDEF &&
		    (symbol->bind == STB_LOCAL || !linker->object[obj].own))
			err = take_definition(&target, linker, obj, sym);
		else
			err = find_name(&target, linker, obj, sym);
		if (err < 0)
			return err;
		linker->object[obj].target[sym] = target;
	}
	*out = target;
	return 0;
}
