/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_POINTER_USE_H
#define KL_CONTRACT_POINTER_USE_H

#include "contract/prototype_parts.h"

/*
 * pointer_use - finds out whether a function writes through a pointer, from the source's tokens. It
 * follows elements, copies of the pointer, macros, and functions of the same source. A use that it
 * cannot follow makes the result unknown; it never guesses.
 */
enum kl_pointer_use {
	KL_POINTER_UNKNOWN,
	KL_POINTER_READ,    /* the function only reads */
	KL_POINTER_WRITTEN, /* the function writes, and may read */
};

/**
 * Return how the function `found` uses its parameter `name`; `axes` is the number of brackets that
 * lead to an element. *read_first is set to true if, in the order of the tokens, the first use of
 * an element is a read.
 */
enum kl_pointer_use kl_pointer_use(bool *read_first, const struct kl_founds *all,
				   const struct kl_found *found, const char *name, size_t axes);

#endif
