/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_DIRT_H
#define KL_WORKER_SUBJECT_DIRT_H

#include <stdint.h>

/*
 * dirt - bytes of 0xff that fill a kernel's new memory, where no kernel may expect zeros. The bytes
 * are NaN in every float format, and no valid index. Children map them privately from a sealed file.
 * Only the pages that a kernel writes are then copied, so a child starts faster than if it wrote the
 * bytes itself.
 */
#define KL_DIRT_BYTES ((uint64_t)2 << 20) /* size of the file */

/** Set *fd to the sealed file; the caller closes it. */
int kl_dirt_lend(int *fd);
/** Map `bytes` of the file, at most KL_DIRT_BYTES, over the memory at address `at`. */
int kl_dirt_map(uint64_t at, uint64_t bytes, int fd);

#endif
