/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_PRAGMAS_H
#define KL_BACKEND_C_PRAGMAS_H

#include "contract/surface.h"

/*
 * pragmas - finds pragmas that a compiler ignores without a warning.
 */

/**
 * Return a note for the event about ignored pragmas of a surface; NULL if there are none. The
 * author of a file with pragmas of OpenMP expects threads, but a kernel has threads only if the
 * contract has `threads`.
 */
const char *kl_pragmas_ignored(const struct kl_surface *surface);

#endif
