/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_PRAGMAS_H
#define KL_BACKEND_C_PRAGMAS_H

#include "contract/surface.h"

/*
 * pragmas - finds pragmas that a compiler ignores without a word.
 */

/**
 * Return what to tell about the pragmas of a surface, for the event; NULL: nothing. A file with
 * pragmas of OpenMP says that its author expects threads, but without `threads` there are none.
 */
const char *kl_pragmas_ignored(const struct kl_surface *surface);

#endif
