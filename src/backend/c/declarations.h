/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_DECLARATIONS_H
#define KL_BACKEND_C_DECLARATIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

/*
 * declarations - compares two preprocessed texts of the same sources, in the parts that the kernel
 * reaches.
 *
 * A text is split into its declarations at file scope. The entry reaches the declarations of its
 * name. A reached declaration reaches the declarations of all words in it, including the words in
 * its strings. A plain function or prototype declares its own name and its asm labels. Any other
 * declaration declares all its words, except the type at its beginning, names of members, and words
 * of attributes and initializers. Everything counts as reached if a reached declaration has
 * assembler code, if assembler code anywhere can define a name, or if an attribute gives any
 * function another name. If a text is spelled so that its tokens are in doubt (spelling.h), or no
 * declaration has the entry's name, the whole texts must be equal. Thus more may count as reached
 * than the entry reaches by names, but never less. Code at an address that a kernel computes is not
 * found; the linker leaves out all code and data that the entry does not reach.
 */

/**
 * Return true if `left` and `right`, the texts of all units in two forms, differ only in
 * declarations that the entries (NULL at the end) do not reach. All lines that begin with '#', and
 * assembler code at file scope, count as reached.
 */
bool kl_declarations_alike(const struct kl_strvec *left, const struct kl_strvec *right,
			   const char *const *entries);

#endif
