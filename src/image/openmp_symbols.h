/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_IMAGE_OPENMP_SYMBOLS_H
#define KL_IMAGE_OPENMP_SYMBOLS_H

#include <stdbool.h>

#include "image/image.h"

/*
 * openmp_symbols - the functions of OpenMP that a kernel with `threads` may call. The worker has
 * its own implementation of them (worker/subject/openmp.h), which the image of such a kernel
 * imports. Names of functions that gcc calls for a pragma begin with GOMP_; names of functions that
 * sources call begin with omp_.
 */

/** Return true if kernels with threads may call `name`. */
bool kl_openmp_symbol(const char *name);
/** Return true if `name` belongs to OpenMP, whether kernels may call it or not. */
bool kl_openmp_named(const char *name);
/**
 * Return a name that an image imports and kernels with threads may not call; NULL if there is none.
 */
const char *kl_openmp_symbol_foreign(const struct kl_image *image);

#endif
