/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_SANITIZER_H
#define KL_BASE_SANITIZER_H

#include "base/buf.h"

/*
 * sanitizer - passes on the reports of sanitizers about the programs that this one runs. A program
 * in a jail has neither ASAN_OPTIONS nor UBSAN_OPTIONS and may not write to the files that they
 * name. Its report is on its stderr, which callers often drop.
 */

/**
 * If what a program wrote to stderr, which begins `from` bytes into `err_text`, has a report, write
 * all of it to where the sanitizers of this process write. Do nothing in a build without them.
 */
void kl_sanitizer_pass_on(const struct kl_buf *err_text, size_t from);

#endif
