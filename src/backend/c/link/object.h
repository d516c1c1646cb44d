/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_LINK_OBJECT_H
#define KL_BACKEND_C_LINK_OBJECT_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/*
 * object - reads an x86-64 ELF file with libelf: sections with their bytes, symbols and
 * relocations. A hostile source can make the assembler write anything, so sizes, indices and names
 * are checked here once: every index is in range, and every name is plain ([A-Za-z0-9_.$-]), so
 * that it can be used in a message and cannot forge a line of a disassembly.
 *
 * The object owns everything that it points to.
 */
#define KL_OBJECT_MAX_BYTES ((size_t)64 << 20)
#define KL_OBJECT_MAX_ITEMS 50000 /* maximum number of sections, of symbols, of relocations */

#ifndef SHT_X86_64_UNWIND
#define SHT_X86_64_UNWIND 0x70000001
#endif

enum kl_sym_place { KL_SYM_UNDEF = -1, KL_SYM_ABS = -2, KL_SYM_COMMON = -3 };

struct kl_osec {
	char *name;
	uint32_t type; /* SHT_* */
	uint64_t flags, size, entsize, align;
	/* points into kl_object.bytes; NULL if there are no bytes (bss) */
	const unsigned char *data;
};

struct kl_osym {
	char *name;
	int sec; /* section index, or enum kl_sym_place */
	uint64_t value, size;
	unsigned char type, bind; /* STT_*, STB_* */
};

struct kl_orel {
	size_t sec; /* the section that the relocation patches */
	uint64_t off;
	uint32_t type; /* R_X86_64_* */
	size_t sym;
	int64_t addend;
};

struct kl_object {
	char *path;
	unsigned char *bytes;
	size_t len;
	int etype; /* ET_REL for a relocatable object; other ET_* are refused by the audit */
	struct kl_osec *sec;
	size_t nsec;
	struct kl_osym *sym; /* the symbols of .symtab */
	size_t nsym;
	struct kl_orel *rel; /* sorted by section, then offset */
	size_t nrel;
};

/**
 * Read an object. Return KL_ENO if the file exceeds a limit or contains a name that is not plain,
 * which no compiler produces for an ordinary kernel. Return KL_EIO if the file cannot be read or is
 * not a valid ELF file for x86-64.
 */
int kl_object_read(struct kl_object **out, const char *path);
/** Read an object from memory, which is copied; `name` replaces the path in messages. */
int kl_object_parse(struct kl_object **out, const char *name, const void *bytes, size_t len);
void kl_object_free(struct kl_object *object);
KL_DEFINE_CLEANUP(struct kl_object *, kl_object_free)

/**
 * Return the index of the first relocation of section `sec` at or after `off`; nrel if there is
 * none.
 */
size_t kl_object_rel_at(const struct kl_object *object, size_t sec, uint64_t off);
/** Return true if the section contains instructions. */
bool kl_osec_is_code(const struct kl_osec *section);
/**
 * Return true if code can write to the section. Sections of constants that contain addresses have
 * the flag SHF_WRITE, but count as not writable, because only the loader writes the addresses
 * there. Only sections that -fdata-sections names after a constant are such an exception;
 * .data.rel.ro itself counts as writable, because a variable named "ro" has a section of this name.
 */
bool kl_osec_is_writable(const struct kl_osec *section);

#endif
