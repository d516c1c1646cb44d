/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_IMAGE_CODE_CHECK_H
#define KL_IMAGE_CODE_CHECK_H

#include "image/image.h"

/*
 * code_check - checks the instructions of an image without a disassembler. The gate checks every
 * image that it links, and the worker checks every image that it receives before it runs it.
 */

/**
 * Check that the text decodes as instructions from its first to its last byte, that a kernel may
 * contain each of them (x86.h), and that every direct branch leads to the start of an instruction.
 * Only code of the libraries may use thread-local data (errno). KL_ENO: a check failed; the message
 * says where.
 */
int kl_code_check(const struct kl_image *image);

#endif
