/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TRANSPLANT_TRANSPLANT_FILE_H
#define KL_TRANSPLANT_TRANSPLANT_FILE_H

#include "transplant/transplant.h"

/*
 * transplant_file - carries the verdicts of transplants to another repository that has the lineage:
 * a file with one gate event a line, in the order of the steps and states. Kernels are not in it,
 * since merging makes them again.
 *
 * A file is not trusted: an event counts only if its id is the digest of its content and it is about
 * the kernel of a cell that is not judged yet, compared with that cell's state.
 */

/** Write the events of all judged cells, and of K_0. `*n` gets their number. */
int kl_transplant_file_write(size_t *n, const struct kl_transplant *transplant, const char *path);
/**
 * Read a file, and keep the events that belong to cells without a verdict. `*n` gets their number,
 * `*left` that of the other lines.
 */
int kl_transplant_file_read(size_t *n, size_t *left, struct kl_transplant *transplant,
			    struct kl_repo *repo, const char *path);

#endif
