/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_IMAGE_FILE_H
#define KL_WORKER_SUBJECT_IMAGE_FILE_H

#include "job/job.h"

/*
 * image_file - checks the file of an image, and copies it for the process that maps it.
 *
 * The copy is sealed (base/sealed.h), because mapping reads it more than once. Each process gets a
 * copy of its own: the physical placement of a file's pages can change a short call by some per cent,
 * which would look like a difference between two kernels.
 */

/**
 * Read an image and open a copy of it; the caller closes *fd. KL_EINVALID: it is no valid image.
 */
int kl_image_file_open(int *fd, uint64_t *bytes, const char *path);

/**
 * Check the code of every image that a job names (image/code_check.h), and what it imports, whoever
 * made it. KL_ECANNOT: one of them is missing, is no image, imports what it may not or has an
 * instruction that no kernel may have.
 */
int kl_image_file_check(const struct kl_job *job);

#endif
