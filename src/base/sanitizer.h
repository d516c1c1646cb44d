/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_SANITIZER_H
#define KL_BASE_SANITIZER_H

#include "base/buf.h"

/*
 * sanitizer - passes on sanitizer reports of the programs that this process runs. A program in a
 * jail has neither ASAN_OPTIONS nor UBSAN_OPTIONS in its environment, and may not write to the log
 * files that these variables name. Its reports go to its stderr, which callers often discard.
 */

/**
 * Search the stderr of a program, which begins `from` bytes into `err_text`, for a report. If there
 * is one, write the whole stderr to where the sanitizers of this process write their reports. In a
 * build without sanitizers, do nothing.
 */
void kl_sanitizer_pass_on(const struct kl_buf *err_text, size_t from);

#endif
