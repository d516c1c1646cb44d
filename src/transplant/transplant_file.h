/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TRANSPLANT_TRANSPLANT_FILE_H
#define KL_TRANSPLANT_TRANSPLANT_FILE_H

#include "transplant/transplant.h"

/*
 * transplant_file - carries the verdicts of transplants to another repository with the same
 * lineage, in a file. The file has one gate event a line, in the order of the steps and states. It
 * does not contain the kernels, because the other repository can merge them itself.
 *
 * A file is not trusted: an event counts only if its id is the digest of its content and it is about
 * the kernel of a cell that is not judged yet. A pass must be compared with that cell's state.
 */

/** Write the events of all judged cells and of K_0 to `path`. Set *n to the number of events. */
int kl_transplant_file_write(size_t *n, const struct kl_transplant *transplant, const char *path);
/**
 * Read a file and keep the events that belong to cells without a verdict. Set *n to the number of
 * these events and *left to the number of all other lines.
 */
int kl_transplant_file_read(size_t *n, size_t *left, struct kl_transplant *transplant,
			    struct kl_repo *repo, const char *path);

#endif
