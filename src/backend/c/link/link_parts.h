/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_LINK_LINK_PARTS_H
#define KL_BACKEND_C_LINK_LINK_PARTS_H

#include "backend/c/link/link.h"
#include "backend/c/link/symbol_index.h"
#include "base/buf.h"
#include "base/map.h"
#include "image/image.h"

/*
 * link_parts - the state of the linker, shared by the files link*.c.
 *
 *	link.c		runs the steps in order; finds the live sections
 *	link_resolve.c	finds what a symbol refers to; reads members of libraries
 *	link_layout.c	places the live sections
 *	link_patch.c	writes the bytes of the live sections, with all references filled in
 */
enum { KL_LINK_TEXT, KL_LINK_RODATA, KL_LINK_DATA, KL_LINK_BSS, KL_LINK_SEGMENTS };
#define KL_LINK_NOWHERE (-1) /* segment number of a section that is left out */

enum kl_link_kind {
	KL_LINK_UNKNOWN, /* not resolved yet */
	KL_LINK_PLACE,   /* at an offset in a section */
	KL_LINK_COMMON,  /* a common symbol, which is placed in bss */
	KL_LINK_ZERO,    /* undefined and weak, so its address is 0 */
	KL_LINK_IMPORT,  /* imported from the process */
	KL_LINK_TABLE,   /* _GLOBAL_OFFSET_TABLE_ */
};

/* What a symbol refers to. */
struct kl_link_target {
	enum kl_link_kind kind;
	uint32_t obj, sec; /* for PLACE: object and section; for COMMON: object and symbol */
	/* for PLACE: offset in the section; for IMPORT: index in kl_linker.import */
	uint64_t value;
};

struct kl_link_section {
	bool live;
	int segment;
	uint64_t at; /* offset in the image */
};

/* An object of the kernel, the runtime or a library. */
struct kl_link_object {
	const struct kl_object *object;
	struct kl_object *mine; /* the same object if the linker must free it; or NULL */
	bool own;               /* an object of the kernel, not of the runtime or a library */
	struct kl_link_section *sec;
	struct kl_link_target *target; /* target of each symbol */
	/* number of each symbol's word and stub, from 1; 0 if there is none */
	uint32_t *word, *stub;
	uint64_t *common; /* offset of each COMMON symbol in the image */
};

/*
 * A word of the linkage table. It contains the address of a symbol or, if `thread`, the distance of
 * the symbol from the thread pointer.
 */
struct kl_link_word {
	uint32_t obj, sym;
	bool thread;
};

struct kl_linker {
	const struct kl_link *of;
	struct kl_link_object *object;
	size_t nobject, alloc_object;
	struct kl_symbol_index own;
	/* symbols of the runtime and libraries: name -> (object << 32 | symbol) + 1 */
	struct kl_map trusted;
	/* live sections whose references are not followed yet, as object << 32 | section */
	uint64_t *todo;
	size_t ntodo, alloc_todo;
	struct kl_link_word *word;
	size_t nword, alloc_word;
	char **import; /* names of the imports */
	size_t nimport, alloc_import;
	/* for each jump to an imported function: index in `word` of the address that it jumps to */
	uint64_t *stub;
	size_t nstub, alloc_stub;
	/* offsets of the linkage table and the stubs in the image */
	uint64_t table, stubs;
	struct kl_image image;
	unsigned char *segment[3]; /* bytes of text, rodata and data */
	struct kl_image_slot *address, *thread;
	size_t alloc_address, alloc_thread;
	struct kl_image_import *slot; /* words that receive addresses of imports */
	size_t alloc_slot;
	struct kl_buf names;
};

/**
 * Set the error of a failed link. Return KL_ENO if object `obj` belongs to the kernel, otherwise
 * KL_ECANNOT.
 */
int kl_link_failed(const struct kl_linker *linker, size_t obj, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * --- functions of link.c
 */
/**
 * Mark a section as live. Return KL_ENO or KL_ECANNOT (see kl_link_failed()) if an image cannot
 * have such a section.
 */
int kl_link_mark(struct kl_linker *linker, size_t obj, size_t sec);
/**
 * Add an object. No section of it is live yet. `mine` is the same object if the linker must free
 * it, or NULL if the object is borrowed. `own` is true if the object belongs to the kernel.
 */
void kl_link_add(struct kl_linker *linker, const struct kl_object *object, struct kl_object *mine,
		 bool own);

/*
 * --- functions of link_resolve.c
 */
/**
 * Add an object of the runtime or a library, and its global symbols to `trusted`. `mine` as in
 * kl_link_add().
 */
void kl_link_add_trusted(struct kl_linker *linker, const struct kl_object *object,
			 struct kl_object *mine);
/** Find a global symbol of the kernel's objects. */
bool kl_link_find_own(size_t *obj, size_t *sym, const struct kl_linker *linker, const char *name);
/** Find a global symbol of the runtime, or of a library's member that was already added. */
bool kl_link_find_known(size_t *obj, size_t *sym, const struct kl_linker *linker, const char *name);
/** Find the definition of symbol `sym` of object `obj`. This can add a member of a library. */
int kl_link_resolve(struct kl_link_target *out, struct kl_linker *linker, size_t obj, size_t sym);

/* --- functions of link_layout.c */
int kl_link_place(struct kl_linker *linker);
/**
 * Return the offset of a target in the image. The target must be of kind PLACE, COMMON or TABLE.
 */
uint64_t kl_link_offset(const struct kl_linker *linker, const struct kl_link_target *target);

/* --- functions of link_patch.c */
/** Check a relocation, and add the word of the linkage table or the stub that it needs. */
int kl_link_need(struct kl_linker *linker, size_t obj, const struct kl_orel *rel,
		 const struct kl_link_target *target);
/** Fill in the bytes of all segments and the lists of the image. */
int kl_link_patch(struct kl_linker *linker);

#endif
