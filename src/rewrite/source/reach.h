/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_REACH_H
#define KL_REWRITE_REACH_H

#include <stdbool.h>

#include "rewrite/source/ctoken.h"

/*
 * reach - which functions of a C source some functions can reach, by the names in its tokens.
 *
 * A function counts as reached if a reached function names it, or a macro, or the value of a global
 * variable, such as a table of functions. So every function that is really called is among them, and
 * perhaps some that are not.
 */

/**
 * Mark the functions that `entries` (NULL at the end) reach, one element for each of tokens->fn. If
 * the source defines none of `entries`, all are marked. The caller frees.
 */
bool *kl_reach_mark(const struct kl_ctokens *tokens, const char *const *entries);

#endif
