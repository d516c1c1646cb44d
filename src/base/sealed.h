/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_SEALED_H
#define KL_BASE_SEALED_H

#include <stdbool.h>
#include <stddef.h>

/*
 * sealed - memory that can no longer be changed: a memfd with seals.
 *
 * It can be mapped only with MAP_PRIVATE: many versions of Linux refuse MAP_SHARED once writing is
 * sealed, even for reading.
 */

/** Copy `n` bytes to sealed memory; the caller closes *fd. /proc/<pid>/maps shows `name`. */
int kl_sealed_make(int *fd, const char *name, const void *data, size_t n);
/** Return true if `fd` refers to sealed memory of at least `n` bytes. */
bool kl_sealed_check(int fd, size_t n);

#endif
