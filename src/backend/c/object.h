/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_OBJECT_H
#define KL_BACKEND_C_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/*
 * object - an x86-64 ELF file as the audit and the facts need it: sections
 * with their bytes, symbols, relocations (libelf). What a hostile source made
 * the assembler write is bounded and checked here once: every index is in range,
 * every name is plain ([A-Za-z0-9_.$-]), so that it can stand in a message and
 * cannot forge a line of a disassembly.
 *
 * Everything is owned by the object.
 */
#define KL_OBJECT_MAX_BYTES ((size_t)64 << 20)
#define KL_OBJECT_MAX_ITEMS 50000 /* sections, symbols, relocations: of each */

enum kl_sym_place { KL_SYM_UNDEF = -1, KL_SYM_ABS = -2, KL_SYM_COMMON = -3 };

struct kl_osec {
	char *name;
	uint32_t type; /* SHT_* */
	uint64_t flags, size, entsize, align;
	uint64_t addr;
	const unsigned char *data; /* NULL: no bytes (bss) */
};

struct kl_osym {
	char *name;
	int sec; /* section index, or enum kl_sym_place */
	uint64_t value, size;
	unsigned char type, bind; /* STT_*, STB_* */
};

struct kl_orel {
	size_t sec; /* section that is patched (relocatable); 0: dynamic */
	uint64_t off;
	uint32_t type; /* R_X86_64_* */
	size_t sym;
	int64_t addend;
};

struct kl_object {
	char *path;
	unsigned char *bytes;
	size_t len;
	int etype; /* ET_REL, ET_DYN */
	struct kl_osec *sec;
	size_t nsec;
	struct kl_osym *sym; /* ET_REL: .symtab; ET_DYN: .dynsym */
	size_t nsym;
	struct kl_orel *rel; /* sorted by section, then offset */
	size_t nrel;
};

/**
 * KL_ENO: the file is a thing no compiler makes of a kernel (a name that is not
 * plain, an absurd size), said in the message; KL_EIO: unreadable or not ELF.
 */
int kl_object_read(struct kl_object **out, const char *path);
void kl_object_free(struct kl_object *object);
KL_DEFINE_CLEANUP(struct kl_object *, kl_object_free)

/** First relocation of `sec` at or behind `off`; returns nrel if there is none in that section. */
size_t kl_object_rel_at(const struct kl_object *object, size_t sec, uint64_t off);
/** Is it a section with instructions? */
bool kl_osec_is_code(const struct kl_osec *section);

#endif
