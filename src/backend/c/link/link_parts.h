/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_LINK_LINK_PARTS_H
#define KL_BACKEND_C_LINK_LINK_PARTS_H

#include "backend/c/link/link.h"
#include "backend/c/link/symbol_index.h"
#include "base/buf.h"
#include "base/map.h"
#include "image/image.h"

/*
 * link_parts - the state of a link, shared by the files link*.c.
 *
 *	link.c		the order of the steps; which sections are live
 *	link_resolve.c	what a symbol refers to; library members are read on demand
 *	link_layout.c	where the live sections lie
 *	link_patch.c	their bytes, with all references filled in
 */
enum { KL_LINK_TEXT, KL_LINK_RODATA, KL_LINK_DATA, KL_LINK_BSS, KL_LINK_SEGMENTS };
#define KL_LINK_NOWHERE (-1) /* segment of a section that is left out */

enum kl_link_kind {
	KL_LINK_UNKNOWN, /* not resolved yet */
	KL_LINK_PLACE,   /* at an offset of a section */
	KL_LINK_COMMON,  /* a common symbol, in bss */
	KL_LINK_ZERO,    /* undefined and weak */
	KL_LINK_IMPORT,  /* of the process */
	KL_LINK_TABLE,   /* _GLOBAL_OFFSET_TABLE_ */
};

/* What a symbol refers to. */
struct kl_link_target {
	enum kl_link_kind kind;
	uint32_t obj, sec; /* PLACE; COMMON: the object, and its symbol */
	uint64_t value;    /* PLACE: offset in the section; IMPORT: its number */
};

struct kl_link_section {
	bool live;
	int segment;
	uint64_t at; /* offset in the image */
};

/* An object that takes part. */
struct kl_link_object {
	const struct kl_object *object;
	struct kl_object *mine; /* a library's member, owned */
	bool own;               /* the kernel's: not of the runtime or a library */
	struct kl_link_section *sec;
	struct kl_link_target *target; /* of each symbol */
	uint32_t *word, *stub;         /* of each symbol: its number, from 1; 0: none */
	uint64_t *common;              /* of each symbol: offset in the image, if COMMON */
};

/* A word of the linkage table: the address (or distance from the thread pointer) of a symbol. */
struct kl_link_word {
	uint32_t obj, sym;
	bool thread;
};

struct kl_linker {
	const struct kl_link *of;
	struct kl_link_object *object;
	size_t nobject, alloc_object;
	struct kl_symbol_index own;
	struct kl_map trusted; /* name -> object << 32 | symbol, plus 1 */
	/* live sections whose references are not followed yet: object << 32 | section */
	uint64_t *todo;
	size_t ntodo, alloc_todo;
	struct kl_link_word *word;
	size_t nword, alloc_word;
	char **import; /* names */
	size_t nimport, alloc_import;
	/* jumps to imported functions: the number of the word that each goes through */
	uint64_t *stub;
	size_t nstub, alloc_stub;
	/* layout; offsets in the image */
	uint64_t table, stubs;
	struct kl_image image;
	unsigned char *segment[3]; /* bytes of text, rodata, data */
	struct kl_image_slot *address, *thread;
	size_t alloc_address, alloc_thread;
	struct kl_image_import *slot; /* words to be filled with imports */
	size_t alloc_slot;
	struct kl_buf names;
};

/** The error of a link: KL_ENO if an object of the kernel is to blame, otherwise KL_ECANNOT. */
int kl_link_failed(const struct kl_linker *linker, size_t obj, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* link.c */
/** Mark a section as live. KL_ENO, KL_ECANNOT: it is of a kind that an image does not have. */
int kl_link_mark(struct kl_linker *linker, size_t obj, size_t sec);
/** Add an object. Its sections are not live yet. */
void kl_link_add(struct kl_linker *linker, const struct kl_object *object, struct kl_object *mine,
		 bool own);

/* link_resolve.c */
/** Add an object of the runtime or a library, whose names only such objects can use freely. */
void kl_link_add_trusted(struct kl_linker *linker, const struct kl_object *object,
			 struct kl_object *mine);
/** Find a name among the global symbols of the kernel's objects. */
bool kl_link_find_own(size_t *obj, size_t *sym, const struct kl_linker *linker, const char *name);
/** Find a name that the runtime, or a member of a library that was read before, defines. */
bool kl_link_find_known(size_t *obj, size_t *sym, const struct kl_linker *linker, const char *name);
/** Find what symbol `sym` of object `obj` refers to; this can add objects. */
int kl_link_resolve(struct kl_link_target *out, struct kl_linker *linker, size_t obj, size_t sym);

/* link_layout.c */
int kl_link_place(struct kl_linker *linker);
/** Offset of a target in the image, not of an import. */
uint64_t kl_link_offset(const struct kl_linker *linker, const struct kl_link_target *target);

/* link_patch.c */
/** Note what a relocation needs besides its target: a word of the table, a stub. */
int kl_link_need(struct kl_linker *linker, size_t obj, const struct kl_orel *rel,
		 const struct kl_link_target *target);
/** Make the bytes of all segments and the lists of the image. */
int kl_link_patch(struct kl_linker *linker);

#endif
