/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_IMAGE_CODE_CHECK_H
#define KL_IMAGE_CODE_CHECK_H

#include "image/image.h"

/*
 * code_check - checks the instructions of an image, with the small decoder of x86.h. The gate
 * checks every image that it links. The worker checks every image that it receives, before any code
 * of it runs.
 */

/**
 * Check that the text decodes as instructions from its first to its last byte, that a kernel may
 * contain each of these instructions (x86.h), and that the entry, the start function and the target
 * of every direct branch are starts of instructions. Check also that the kernel's own code, unlike
 * the code of the libraries, does not use thread-local data (such as errno). Return KL_ENO if a
 * check failed. The message says where.
 */
int kl_code_check(const struct kl_image *image);

#endif
