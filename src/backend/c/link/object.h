/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_LINK_OBJECT_H
#define KL_BACKEND_C_LINK_OBJECT_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/*
 * object - an x86-64 ELF file, read for the audit and the facts: sections with their bytes,
 * symbols, relocations (libelf). A hostile source can make the assembler write anything, so the
 * file is bounded and checked here once: every index is in range, and every name is plain
 * ([A-Za-z0-9_.$-]), so that it can be used in a message and cannot forge a line of a disassembly.
 *
 * Everything is owned by the object.
 */
#define KL_OBJECT_MAX_BYTES ((size_t)64 << 20)
#define KL_OBJECT_MAX_ITEMS 50000 /* each of sections, symbols, relocations */

#ifndef SHT_X86_64_UNWIND
#define SHT_X86_64_UNWIND 0x70000001
#endif

enum kl_sym_place { KL_SYM_UNDEF = -1, KL_SYM_ABS = -2, KL_SYM_COMMON = -3 };

struct kl_osec {
	char *name;
	uint32_t type; /* SHT_* */
	uint64_t flags, size, entsize, align;
	const unsigned char *data; /* NULL: no bytes (bss) */
};

struct kl_osym {
	char *name;
	int sec; /* section index, or enum kl_sym_place */
	uint64_t value, size;
	unsigned char type, bind; /* STT_*, STB_* */
};

struct kl_orel {
	size_t sec; /* the patched section */
	uint64_t off;
	uint32_t type; /* R_X86_64_* */
	size_t sym;
	int64_t addend;
};

struct kl_object {
	char *path;
	unsigned char *bytes;
	size_t len;
	int etype; /* ET_REL, or what no kernel is */
	struct kl_osec *sec;
	size_t nsec;
	struct kl_osym *sym; /* of .symtab */
	size_t nsym;
	struct kl_orel *rel; /* sorted by section, then offset */
	size_t nrel;
};

/**
 * KL_ENO: no compiler makes such a file from a kernel (a name that is not plain, an absurd size);
 * the message says what is wrong. KL_EIO: the file is unreadable or not ELF.
 */
int kl_object_read(struct kl_object **out, const char *path);
/** Read an object from memory, which is copied; `name` stands for its path in messages. */
int kl_object_parse(struct kl_object **out, const char *name, const void *bytes, size_t len);
void kl_object_free(struct kl_object *object);
KL_DEFINE_CLEANUP(struct kl_object *, kl_object_free)

/** Index of the first relocation of `sec` at or behind `off`; nrel if there is none. */
size_t kl_object_rel_at(const struct kl_object *object, size_t sec, uint64_t off);
/** Does the section contain instructions? */
bool kl_osec_is_code(const struct kl_osec *section);
/** Is the section's name `name`, or `name` followed by a dot and more? */
bool kl_osec_is_named(const struct kl_osec *section, const char *name);
/**
 * Can code write to the section? Constants that contain addresses are not writable, although the
 * object says so: only the loader, which fills in the addresses, writes to them.
 */
bool kl_osec_is_writable(const struct kl_osec *section);

#endif
