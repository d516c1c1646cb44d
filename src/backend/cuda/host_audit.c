/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/host_audit.h"

#include <elf.h>
#include <string.h>

#include "backend/c/audit.h"
#include "backend/cuda/host_symbols.h"
#include "base/error.h"

#define MAX_TEXT ((uint64_t)32 << 20)
#define MAX_DATA ((uint64_t)64 << 20) /* kernels included */
/* What nvcc calls its constructor; a second of that name the assembler refuses. */
#define REGISTRATION "_ZL24__sti____cudaRegisterAllv"
/* Of a struct of nvcc's: magic, version, the code's address, none. */
#define SEGMENT_BYTES 24
#define FATBIN_OVERHEAD 4096 /* headers of the container */

static bool starts_with(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool is_family(const char *s, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(s, name, n) && (!s[n] || s[n] == '.');
}

static const struct kl_osec *only_section(const struct kl_object *o, const char *name, size_t *at)
{
	const struct kl_osec *found = NULL;

	for (size_t i = 0; i < o->nsec; i++) {
		if (strcmp(o->sec[i].name, name))
			continue;
		if (found)
			return NULL;
		found = &o->sec[i];
		*at = i;
	}
	return found;
}

static int check_section(const struct kl_osec *s)
{
	static const char *const usual[] = {
		".text",       ".rodata",           ".data",      ".bss",
		".eh_frame",   ".gcc_except_table", ".nv_fatbin", ".nvFatBinSegment",
		".init_array", ".lrodata",          ".ldata",     ".lbss",
	};

	if (!strcmp(s->name, ".note.GNU-stack") && s->flags & SHF_EXECINSTR)
		return kl_error(KL_ENO, "asks for an executable stack");
	if (starts_with(s->name, ".gnu.lto_"))
		return kl_error(KL_ENO, "is no machine code but the compiler's intermediate form");
	if (!(s->flags & SHF_ALLOC) || s->type == SHT_NOTE)
		return 0;
	if (s->flags & SHF_TLS)
		return kl_error(KL_ENO, "has thread-local storage: section '%s'", s->name);
	if (s->flags & SHF_WRITE && s->flags & SHF_EXECINSTR)
		return kl_error(KL_ENO, "has a section that is writable and executable: '%s'",
				s->name);
	if (s->type == SHT_INIT_ARRAY && !strcmp(s->name, ".init_array") && s->size == 8)
		return 0;
	if (s->type == SHT_INIT_ARRAY || s->type == SHT_FINI_ARRAY ||
	    s->type == SHT_PREINIT_ARRAY || starts_with(s->name, ".init_array"))
		return kl_error(KL_ENO,
				"has code that runs at load: section '%s' (a static object with a "
				"constructor?)",
				s->name);
	for (size_t i = 0; i < KL_ARRAY_SIZE(usual); i++)
		if (is_family(s->name, usual[i]))
			return 0;
	return kl_error(KL_ENO, "defines a section of its own: '%s'", s->name);
}

static int check_sections(const struct kl_object *o)
{
	uint64_t text = 0, data = 0;
	int err = 0;

	for (size_t i = 0; !err && i < o->nsec; i++) {
		uint64_t *sum = kl_osec_is_code(&o->sec[i]) ? &text : &data;

		err = check_section(&o->sec[i]);
		if (o->sec[i].flags & SHF_ALLOC &&
		    __builtin_add_overflow(*sum, o->sec[i].size, sum))
			*sum = UINT64_MAX;
		if (!err && (text > MAX_TEXT || data > MAX_DATA))
			err = kl_error(KL_ENO, "has more than %s",
				       text > MAX_TEXT ? "32 MiB of code" :
							 "64 MiB of static data");
	}
	return err;
}

/* The one address in .init_array is that of nvcc's function. */
static int check_constructor(const struct kl_object *o)
{
	size_t at = 0, rel;
	const struct kl_osec *array = only_section(o, ".init_array", &at);
	const struct kl_osym *to;
	uint64_t value;

	if (!array)
		return kl_error(KL_ENO, "has no kernels, or more than one constructor");
	rel = kl_object_rel_at(o, at, 0);
	if (rel >= o->nrel || o->rel[rel].sec != at || o->rel[rel].type != R_X86_64_64 ||
	    (rel + 1 < o->nrel && o->rel[rel + 1].sec == at))
		return kl_error(KL_ENO, "has a constructor that is not nvcc's");
	to = &o->sym[o->rel[rel].sym];
	value = to->value + (uint64_t)o->rel[rel].addend;
	for (size_t i = 0; i < o->nsym; i++)
		if (o->sym[i].sec == to->sec && o->sym[i].value == value &&
		    o->sym[i].type == STT_FUNC && o->sym[i].bind == STB_LOCAL &&
		    !strcmp(o->sym[i].name, REGISTRATION))
			return 0;
	return kl_error(KL_ENO, "has code that runs at load: a static object with a constructor?");
}

/* What is registered is the very code that was audited, and nothing beside it. */
static int check_device_code(const struct kl_object *o, const struct kl_cubin *cubin)
{
	size_t at = 0;
	const struct kl_osec *fat = only_section(o, ".nv_fatbin", &at),
			     *segment = only_section(o, ".nvFatBinSegment", &at);

	if (!fat || !fat->data || !segment || segment->size != SEGMENT_BYTES)
		return kl_error(KL_ENO, "does not hold one piece of device code");
	if (fat->size > cubin->len + FATBIN_OVERHEAD ||
	    !memmem(fat->data, fat->size, cubin->bytes, cubin->len))
		return kl_error(KL_ENO, "holds device code other than what was compiled from it");
	return 0;
}

static int check_symbol(const struct kl_osym *s)
{
	if (!s->name[0] || s->type == STT_FILE || s->type == STT_SECTION)
		return 0;
	if (s->type == STT_GNU_IFUNC)
		return kl_error(KL_ENO, "chooses '%s' at load (IFUNC)", s->name);
	if (s->type == STT_TLS)
		return kl_error(KL_ENO, "has the thread-local variable '%s'", s->name);
	if (s->sec == KL_SYM_ABS)
		return kl_error(KL_ENO, "gives '%s' an absolute address", s->name);
	if (s->sec == KL_SYM_UNDEF)
		return kl_host_symbol_may_use(s->name) ?
			       0 :
			       kl_error(
				       KL_ENO,
				       "uses '%s', which host code may not: it launches its own kernels "
				       "on the stream it is given",
				       s->name);
	if (s->bind == STB_GNU_UNIQUE)
		return kl_error(KL_ENO, "defines '%s' as unique in the process", s->name);
	if (s->bind != STB_LOCAL && kl_host_symbol_reserved(s->name))
		return kl_error(KL_ENO,
				"defines '%s', a name of the system's or the gate's: rename it",
				s->name);
	return 0;
}

int kl_audit_host_object(const struct kl_object *o, const struct kl_cubin *cubin)
{
	int err;

	if (o->etype != ET_REL)
		return kl_error(KL_ENO, "is no relocatable object");
	if ((err = check_sections(o)) < 0)
		return err;
	for (size_t i = 0; !err && i < o->nsym; i++)
		err = check_symbol(&o->sym[i]);
	if (!err)
		err = check_constructor(o);
	return err ? err : check_device_code(o, cubin);
}

/* _ZN3cub…: a function in the namespace cub */
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
			if (starts_with(cubin->kernel[i].name, foreign[k].begins))
				return kl_error(KL_ENO, "launches a kernel of %s: '%.200s'",
						foreign[k].whose, cubin->kernel[i].name);
	return 0;
}

int kl_audit_host_linked(const struct kl_object *so)
{
	static const char *const needed[] = { "libcudart.so.12",
					      "libcudart.so.13",
					      "libcuda.so.1",
					      "libc.so.6",
					      "libm.so.6",
					      "libmvec.so.1",
					      "libstdc++.so.6",
					      "libgcc_s.so.1",
					      "ld-linux-x86-64.so.2",
					      NULL };
	static const struct kl_audit_link may = {
		.entry = KL_HOST_ENTRY,
		.exports = { "klineage_dims" },
		.needed = needed,
		.may_use = kl_host_symbol_may_use,
		.constructors = 1,
	};

	return kl_audit_linked_as(so, &may);
}
