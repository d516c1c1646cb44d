/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/audit.h"

#include <elf.h>
#include <string.h>

#include "base/error.h"
#include "base/prefix.h"
#include "image/openmp_symbols.h"

#define MAX_TEXT ((uint64_t)8 << 20)
#define MAX_DATA ((uint64_t)1 << 30)

static int section_runs_at_load(const struct kl_osec *section)
{
	static const char *const names[] = {
		".init_array", ".fini_array", ".preinit_array", ".ctors",
		".dtors",      ".init",       ".fini",
	};

	if (section->type == SHT_INIT_ARRAY || section->type == SHT_FINI_ARRAY ||
	    section->type == SHT_PREINIT_ARRAY)
		return 1;
	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++)
		if (kl_prefix_is_dotted(section->name, names[i]))
			return 1;
	return 0;
}

/*
 * Return true if compilers put a kernel's code and data in such a section. Check both the type and
 * the name, because a linker looks at both, and a note can have any name.
 */
static bool section_is_usual(const struct kl_osec *section)
{
	static const char *const names[] = {
		".text", ".rodata", ".data", ".bss", ".eh_frame", ".lrodata", ".ldata", ".lbss",
	};

	if (section->type == SHT_NOTE)
		return !strcmp(section->name, ".note.gnu.property");
	if (section->type != SHT_PROGBITS && section->type != SHT_NOBITS &&
	    section->type != SHT_X86_64_UNWIND)
		return false;
	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++)
		if (kl_prefix_is_dotted(section->name, names[i]))
			return true;
	return false;
}

static int check_section(const struct kl_osec *section)
{
	if (!strcmp(section->name, ".note.GNU-stack")) {
		if (section->flags & SHF_EXECINSTR)
			return kl_error(KL_ENO, "needs an executable stack: "
						"is the address of a nested function taken?");
		return 0;
	}
	if (kl_prefix_has(section->name, ".gnu.lto_"))
		return kl_error(
			KL_ENO,
			"contains the compiler's intermediate form instead of machine code");
	if (section_runs_at_load(section))
		return kl_error(KL_ENO, "has code that runs at load: section '%s'", section->name);
	if (!(section->flags & SHF_ALLOC))
		return 0;
	if (section->flags & SHF_TLS)
		return kl_error(KL_ENO, "has thread-local storage: section '%s'", section->name);
	if ((section->flags & SHF_WRITE) && (section->flags & SHF_EXECINSTR))
		return kl_error(KL_ENO, "has a section that is writable and executable: '%s'",
				section->name);
	if (!section_is_usual(section))
		return kl_error(KL_ENO, "defines a section of its own: '%s'", section->name);
	return 0;
}

static int check_sections(const struct kl_object *object, const bool *reached)
{
	uint64_t text = 0, data = 0;
	int err = 0;

	for (size_t i = 0; !err && i < object->nsec; i++) {
		const struct kl_osec *section = &object->sec[i];
		uint64_t *sum = kl_osec_is_code(section) ? &text : &data;

		err = check_section(section);
		if ((section->flags & SHF_ALLOC) && (!reached || reached[i]) &&
		    __builtin_add_overflow(*sum, section->size, sum))
			*sum = UINT64_MAX;
		if (text > MAX_TEXT || data > MAX_DATA)
			err = kl_error(KL_ENO, "has more than %s",
				       text > MAX_TEXT ? "8 MiB of code" : "1 GiB of static data");
	}
	return err;
}

/*
 * Return true if the symbol is not linked, because the entry does not reach it: it is undefined, or
 * it is the kernel's own `main`.
 */
static bool is_left_out(const struct kl_audit *audit, size_t k, size_t sym)
{
	const struct kl_osym *symbol = &audit->object[k]->sym[sym];

	if (!audit->reached)
		return false;
	if (symbol->sec == KL_SYM_UNDEF)
		return !audit->reached->sym[k][sym];
	return symbol->sec >= 0 && !audit->reached->sec[k][symbol->sec] &&
	       !strcmp(symbol->name, "main");
}

static int check_openmp(const struct kl_audit *audit, const char *name)
{
	if (!audit->openmp)
		return kl_error(
			KL_ENO,
			"uses '%s', but the contract gives it no threads: add 'threads: <n>' "
			"to 'surface'",
			name);
	if (kl_openmp_symbol(name))
		return 0;
	if (!strcmp(name, "omp_get_wtime") || !strcmp(name, "omp_get_wtick"))
		return kl_error(KL_ENO, "reads a clock: '%s'", name);
	return kl_error(KL_ENO,
			"uses '%s', a function of OpenMP that the gate does not have "
			"(docs/formats.md, section 4, Threads)",
			name);
}

static int check_undefined(const struct kl_audit *audit, const char *name)
{
	/* the assembler adds this symbol to position-independent code */
	if (!strcmp(name, "_GLOBAL_OFFSET_TABLE_"))
		return 0;
	if (kl_symbol_kind(name) != KL_SYMBOL_FOREIGN ||
	    (audit->defined && kl_symbol_index_find(audit->defined, name)) ||
	    (audit->traps && kl_strvec_has(audit->traps, name)))
		return 0;
	if (kl_openmp_named(name))
		return check_openmp(audit, name);
	return kl_error(KL_ENO,
			"uses '%s', which is not allowed: "
			"a kernel may call mem*, str*, libm and malloc",
			name);
}

static int check_symbol(const struct kl_audit *audit, const struct kl_osym *symbol)
{
	if (!symbol->name[0] || symbol->type == STT_FILE || symbol->type == STT_SECTION)
		return 0;
	if (symbol->type == STT_GNU_IFUNC)
		return kl_error(
			KL_ENO,
			"selects the code of '%s' at load (IFUNC): select it in the kernel with "
			"__builtin_cpu_supports(), which is answered for the platform",
			symbol->name);
	if (symbol->type == STT_TLS)
		return kl_error(KL_ENO, "has the thread-local variable '%s'", symbol->name);
	if (symbol->sec == KL_SYM_ABS)
		return kl_error(KL_ENO, "gives '%s' an absolute address", symbol->name);
	if (symbol->sec == KL_SYM_UNDEF)
		return check_undefined(audit, symbol->name);
	/*
	 * local symbols may have reserved names, except the allocator's names, because the facts
	 * recognize an allocation by these
	 */
	if (symbol->bind == STB_LOCAL ? kl_symbol_kind(symbol->name) == KL_SYMBOL_ALLOC :
					kl_symbol_reserved(symbol->name))
		return kl_error(KL_ENO,
				"defines '%s', a name that the system or the gate uses: rename it",
				symbol->name);
	if (symbol->bind == STB_GNU_UNIQUE)
		return kl_error(KL_ENO, "defines '%s' as unique in the process (STB_GNU_UNIQUE)",
				symbol->name);
	return 0;
}

int kl_audit_object(const struct kl_audit *audit, size_t k)
{
	const struct kl_object *object = audit->object[k];
	int err;

	if (object->etype != ET_REL)
		return kl_error(KL_ENO, "is not a relocatable object");
	err = check_sections(object, audit->reached ? audit->reached->sec[k] : NULL);
	for (size_t i = 0; !err && i < object->nsym; i++)
		if (!is_left_out(audit, k, i))
			err = check_symbol(audit, &object->sym[i]);
	return err;
}
