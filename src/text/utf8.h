/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_UTF8_H
#define KL_TEXT_UTF8_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * utf8 - checks whether bytes are UTF-8 text. Shortest forms alone, no surrogates, nothing above
 * U+10FFFF, no NUL.
 */

/** Length of the character at `text`, of at most `len` bytes; 0: that is none. */
size_t kl_utf8_char(const char *text, size_t len);
/** Bytes from the start that are text; `len` if all are. */
size_t kl_utf8_span(const char *text, size_t len);
/**
 * Append `text`; each byte that is no text, and each control byte but tab and newline, as '?'.
 * Carriage returns are dropped.
 */
void kl_utf8_clean(struct kl_buf *out, const char *text, size_t len);
/** The most bytes of `text`, at most `max`, that do not cut a character. */
size_t kl_utf8_cut(const char *text, size_t len, size_t max);

#endif
