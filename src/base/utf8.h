/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_UTF8_H
#define KL_BASE_UTF8_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * utf8 - checks and repairs UTF-8 text.
 *
 * Malformed bytes, overlong forms, surrogates, characters above U+10FFFF and NUL are invalid.
 */

/**
 * Return the length in bytes of the first character of `text`, or 0 if this character is invalid.
 * `text` has `len` bytes.
 */
size_t kl_utf8_char(const char *text, size_t len);
/** Return the length of the longest valid prefix of `text`; `len` if all of it is valid. */
size_t kl_utf8_span(const char *text, size_t len);
/**
 * Append `text`, replacing each invalid byte and each control byte except tab and newline by '?'.
 * Carriage returns are dropped.
 */
void kl_utf8_clean(struct kl_buf *out, const char *text, size_t len);
/** Return the length to cut `text` to: at most `max` bytes, without splitting a character. */
size_t kl_utf8_cut(const char *text, size_t len, size_t max);

#endif
