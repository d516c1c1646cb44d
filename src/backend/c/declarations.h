/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_DECLARATIONS_H
#define KL_BACKEND_C_DECLARATIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

/*
 * declarations - compares two preprocessed texts of the same sources where the kernel reaches them.
 *
 * A text is split into its declarations at file scope. The entry reaches the declaration of its
 * name; a reached declaration reaches those of all words in it, also of words in its strings. A plain
 * function or prototype has one name, and those of its asm labels; any other declaration has all its
 * words as names, but not the type that it begins with, names of members, or words of attributes and
 * initializers. Everything counts as reached if a reached declaration has assembler code, if assembler
 * code anywhere can define a name, or if an attribute gives any function another name. If a text is
 * spelled so that its tokens are in doubt (spelling.h), or no declaration has the entry's name, the
 * whole texts must be equal. So more may count than a name leads to, but not less. Code at an address
 * that a kernel computes is not found; the linker leaves out what the entry does not reach.
 */

/**
 * Return true if `left` and `right`, the texts of all units in two forms, differ only in
 * declarations that the entries (NULL at the end) do not reach. All lines that begin with '#', and
 * assembler code at file scope, count as reached.
 */
bool kl_declarations_alike(const struct kl_strvec *left, const struct kl_strvec *right,
			   const char *const *entries);

#endif
