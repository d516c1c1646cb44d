/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/host_audit.h"

#include <elf.h>
#include <string.h>

#include "base/error.h"
#include "base/prefix.h"
#include "image/host_symbols.h"

#define MAX_TEXT ((uint64_t)32 << 20)
/* limit of static data in bytes, including the device code */
#define MAX_DATA ((uint64_t)64 << 20)
/* Size in bytes of nvcc's fatbin wrapper: magic, version, address of the code, an unused word. */
#define SEGMENT_BYTES 24
#define FATBIN_OVERHEAD 4096 /* maximum bytes of headers around the cubin */

static const struct kl_osec *only_section(const struct kl_object *object, const char *name,
					  size_t *at)
{
	const struct kl_osec *found = NULL;

	for (size_t i = 0; i < object->nsec; i++) {
		if (strcmp(object->sec[i].name, name))
			continue;
		if (found)
			return NULL;
		found = &object->sec[i];
		*at = i;
	}
	return found;
}

static int check_section(const struct kl_osec *section)
{
	static const char *const usual[] = {
		".text",       ".rodata",           ".data",      ".bss",
		".eh_frame",   ".gcc_except_table", ".nv_fatbin", ".nvFatBinSegment",
		".init_array", ".lrodata",          ".ldata",     ".lbss",
	};

	if (!strcmp(section->name, ".note.GNU-stack") && section->flags & SHF_EXECINSTR)
		return kl_error(KL_ENO, "needs an executable stack");
	if (kl_prefix_has(section->name, ".gnu.lto_"))
		return kl_error(
			KL_ENO,
			"contains the compiler's intermediate form instead of machine code");
	if (!(section->flags & SHF_ALLOC) || section->type == SHT_NOTE)
		return 0;
	if (section->flags & SHF_TLS)
		return kl_error(KL_ENO, "has thread-local storage: section '%s'", section->name);
	if (section->flags & SHF_WRITE && section->flags & SHF_EXECINSTR)
		return kl_error(KL_ENO, "has a section that is writable and executable: '%s'",
				section->name);
	if (section->type == SHT_INIT_ARRAY && !strcmp(section->name, ".init_array") &&
	    section->size == 8)
		return 0;
	if (section->type == SHT_INIT_ARRAY || section->type == SHT_FINI_ARRAY ||
	    section->type == SHT_PREINIT_ARRAY || kl_prefix_has(section->name, ".init_array"))
		return kl_error(KL_ENO,
				"has code that runs at load: section '%s' (a static object with a "
				"constructor?)",
				section->name);
	for (size_t i = 0; i < KL_ARRAY_SIZE(usual); i++)
		if (kl_prefix_is_dotted(section->name, usual[i]))
			return 0;
	return kl_error(KL_ENO, "defines a section of its own: '%s'", section->name);
}

static int check_sections(const struct kl_object *object)
{
	uint64_t text = 0, data = 0;
	int err = 0;

	for (size_t i = 0; !err && i < object->nsec; i++) {
		uint64_t *sum = kl_osec_is_code(&object->sec[i]) ? &text : &data;

		err = check_section(&object->sec[i]);
		if (object->sec[i].flags & SHF_ALLOC &&
		    __builtin_add_overflow(*sum, object->sec[i].size, sum))
			*sum = UINT64_MAX;
		if (!err && (text > MAX_TEXT || data > MAX_DATA))
			err = kl_error(KL_ENO, "has more than %s",
				       text > MAX_TEXT ? "32 MiB of code" :
							 "64 MiB of static data");
	}
	return err;
}

/* Check that .init_array contains only the address of nvcc's constructor. */
static int check_constructor(const struct kl_object *object)
{
	size_t at = 0, rel;
	const struct kl_osec *array = only_section(object, ".init_array", &at);
	const struct kl_osym *to;
	uint64_t value;

	if (!array)
		return kl_error(KL_ENO, "has no kernels, or more than one constructor");
	rel = kl_object_rel_at(object, at, 0);
	if (rel >= object->nrel || object->rel[rel].sec != at ||
	    object->rel[rel].type != R_X86_64_64 ||
	    (rel + 1 < object->nrel && object->rel[rel + 1].sec == at))
		return kl_error(KL_ENO, "has a constructor that is not nvcc's");
	to = &object->sym[object->rel[rel].sym];
	value = to->value + (uint64_t)object->rel[rel].addend;
	for (size_t i = 0; i < object->nsym; i++)
		if (object->sym[i].sec == to->sec && object->sym[i].value == value &&
		    object->sym[i].type == STT_FUNC && object->sym[i].bind == STB_LOCAL &&
		    !strcmp(object->sym[i].name, KL_HOST_REGISTRATION))
			return 0;
	return kl_error(KL_ENO, "has code that runs at load: a static object with a constructor?");
}

/* Check that the device code in the object is the cubin that was audited. */
static int check_device_code(const struct kl_object *object, const struct kl_cubin *cubin)
{
	size_t at = 0;
	const struct kl_osec *fat = only_section(object, ".nv_fatbin", &at),
			     *segment = only_section(object, ".nvFatBinSegment", &at);

	if (!fat || !fat->data || !segment || segment->size != SEGMENT_BYTES)
		return kl_error(KL_ENO, "does not contain exactly one piece of device code");
	if (fat->size > cubin->len + FATBIN_OVERHEAD ||
	    !memmem(fat->data, fat->size, cubin->bytes, cubin->len))
		return kl_error(KL_ENO,
				"contains device code that was not compiled from the source");
	return 0;
}

static int check_symbol(const struct kl_osym *symbol)
{
	if (!symbol->name[0] || symbol->type == STT_FILE || symbol->type == STT_SECTION)
		return 0;
	if (symbol->type == STT_GNU_IFUNC)
		return kl_error(KL_ENO, "selects the code of '%s' at load (IFUNC)", symbol->name);
	if (symbol->type == STT_TLS)
		return kl_error(KL_ENO, "has the thread-local variable '%s'", symbol->name);
	if (symbol->sec == KL_SYM_ABS)
		return kl_error(KL_ENO, "gives '%s' an absolute address", symbol->name);
	if (symbol->sec == KL_SYM_UNDEF)
		return kl_host_symbol_may_use(symbol->name) ?
			       0 :
			       kl_error(KL_ENO,
					"uses '%s', which is not allowed: host code may "
					"launch its own kernels "
					"on the stream that it is passed",
					symbol->name);
	if (symbol->bind == STB_GNU_UNIQUE)
		return kl_error(KL_ENO, "defines '%s' as unique in the process (STB_GNU_UNIQUE)",
				symbol->name);
	if (symbol->bind != STB_LOCAL && kl_host_symbol_reserved(symbol->name))
		return kl_error(KL_ENO,
				"defines '%s', a name that the system or the gate uses: rename it",
				symbol->name);
	return 0;
}

int kl_audit_host_object(const struct kl_object *object, const struct kl_cubin *cubin)
{
	int err;

	if (object->etype != ET_REL)
		return kl_error(KL_ENO, "is not a relocatable object");
	if ((err = check_sections(object)) < 0)
		return err;
	for (size_t i = 0; !err && i < object->nsym; i++)
		err = check_symbol(&object->sym[i]);
	if (!err)
		err = check_constructor(object);
	return err ? err : check_device_code(object, cubin);
}

/*
 * Refuse kernels of libraries, which are recognized by their names: C++ mangles the name of a
 * function in namespace cub to _ZN3cub...
 */
int kl_audit_host_kernels(const struct kl_cubin *cubin)
{
	static const struct {
		const char *begins, *whose;
	} foreign[] = {
		{ "_ZN3cub", "CUB" },
		{ "_ZN6thrust", "Thrust" },
		{ "_ZN4cuda3std", "libcu++" },
	};

	if (!cubin->nkernel)
		return kl_error(KL_ENO, "has no kernel of its own");
	for (size_t i = 0; i < cubin->nkernel; i++)
		for (size_t k = 0; k < KL_ARRAY_SIZE(foreign); k++)
			if (kl_prefix_has(cubin->kernel[i].name, foreign[k].begins))
				return kl_error(KL_ENO, "launches a kernel of %s: '%.200s'",
						foreign[k].whose, cubin->kernel[i].name);
	return 0;
}
