/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_REACH_H
#define KL_REWRITE_REACH_H

#include <stdbool.h>

#include "rewrite/source/ctoken.h"

/*
 * reach - finds the functions of a C source that given functions can reach, by the names in its
 * tokens.
 *
 * A function counts as reached if its name occurs in a reached function, in a macro, or in the
 * value of a global variable, such as a table of functions. So all functions that are really called
 * are found, and perhaps some that are not.
 */

/**
 * Return an array with an element for each of tokens->fn, which is true if `entries`, a
 * NULL-terminated list, reach the function. If the source defines none of `entries`, all elements
 * are true. The caller frees the array.
 */
bool *kl_reach_mark(const struct kl_ctokens *tokens, const char *const *entries);

#endif
