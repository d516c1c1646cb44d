/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_IMAGE_CODE_CHECK_H
#define KL_IMAGE_CODE_CHECK_H

#include "image/image.h"

/*
 * code_check - checks the instructions of an image, without a disassembler and without the gate:
 * the worker does so before it runs what it was sent.
 */

/**
 * The text must be instructions from its first to its last byte, none of which a kernel must not
 * contain (x86.h), and direct branches must lead to the start of one. Only the libraries' part may
 * use the thread's own data (errno). KL_ENO: it is not so; the message says where.
 */
int kl_code_check(const struct kl_image *image);

#endif
