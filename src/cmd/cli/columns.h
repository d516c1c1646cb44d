/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CLI_COLUMNS_H
#define KL_CMD_CLI_COLUMNS_H

#include <stddef.h>

/*
 * columns - counts the columns that text takes on a terminal: none for a combining accent, two for
 * an ideograph or an emoji. The text is valid UTF-8 and has no control characters, as
 * kl_printable_line() leaves it. Where the C library has no locale C.UTF-8, each character counts
 * as one column.
 */
int kl_columns_of(const char *text, size_t len);
/** Return the length in bytes of the longest start of `text` that takes at most `most` columns. */
size_t kl_columns_cut(const char *text, int most);

#endif
