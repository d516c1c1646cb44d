/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_IMAGE_FILE_H
#define KL_WORKER_SUBJECT_IMAGE_FILE_H

#include "image/image.h"
#include "job/job.h"

/*
 * image_file - checks the file of an image, and copies it for the process that maps it.
 *
 * The copy is sealed (base/sealed.h), because a process reads it more than once while mapping it,
 * and must find the same bytes each time. Each process gets a copy of its own, because the physical
 * placement of a file's pages can change the time of a short call by some per cent, which would
 * look like a difference between two kernels.
 */

/**
 * Read an image and open a sealed copy of it as *fd, which the caller closes; *bytes is its size.
 * Set adapter[i] if the image has that function of an adapter (KL_IMAGE_PREPARE ...). Return
 * KL_EINVALID if the file is not a valid image.
 */
int kl_image_file_open(int *fd, uint64_t *bytes, bool adapter[KL_IMAGE_ADAPTER], const char *path);

/**
 * Check the code of every image that a job names (image/code_check.h), and the symbols that it
 * imports. Return KL_ECANNOT if an image is missing or invalid, imports a symbol that is not
 * allowed, or has an instruction that a kernel may not contain.
 */
int kl_image_file_check(const struct kl_job *job);

#endif
