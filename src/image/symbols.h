/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_IMAGE_SYMBOLS_H
#define KL_IMAGE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * symbols - the symbols that the object of a kernel may use, and those that it must not define. The
 * gate checks them when it audits an object; the worker checks them when it maps an image with host
 * code.
 */
enum kl_symbol_kind {
	KL_SYMBOL_FOREIGN, /* not allowed in a kernel */
	KL_SYMBOL_MEMORY,  /* mem*, str* */
	KL_SYMBOL_MATH,    /* functions of libm, and their vector forms in libmvec */
	KL_SYMBOL_ALLOC,   /* the runtime's allocator */
	KL_SYMBOL_HELPER,  /* functions of libgcc, which compilers call implicitly */
};
/**
 * Return the kind of a symbol that a kernel uses but does not define. docs/formats.md lists the
 * allowed symbols.
 */
enum kl_symbol_kind kl_symbol_kind(const char *name);
/**
 * Return true if a kernel must not define `name`: a symbol that a kernel may use, a name of the
 * gate, or a library function that cheats are known to define themselves.
 */
bool kl_symbol_reserved(const char *name);
/**
 * Return true if `name`, of `len` bytes, is a word of `list`. Each word of `list` has a space on
 * both sides.
 */
bool kl_symbol_listed(const char *list, const char *name, size_t len);

#endif
