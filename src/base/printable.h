/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_PRINTABLE_H
#define KL_BASE_PRINTABLE_H

#include "base/buf.h"

/*
 * printable - text from elsewhere, made safe to print on a terminal.
 *
 * Whoever wrote an event, a card, a commit or a message must not command the terminal of whoever
 * reads it. A byte that is a control character or no UTF-8 becomes `\x1b`; a character that is a
 * control character, turns the direction of the text, or cannot be seen becomes `<U+202E>`. Newline
 * and tab are kept, except in one line. What is safe is kept byte for byte, so doing it twice is
 * the same as doing it once. This is for reading: `\x1b` can also have stood in the text.
 *
 * Replaced are U+0000-1F, U+007F-9F, U+061C, U+2028-202E, U+2066-2069, and characters without width
 * that are no part of a letter: soft hyphen, joiners, fillers, byte order mark, tags.
 */

/** Append `text` for print. */
void kl_printable_add(struct kl_buf *out, const char *text, size_t len);
/** Append `text` as one line: newline and tab become `\x0a` and `\x09`. */
void kl_printable_line(struct kl_buf *out, const char *text, size_t len);
/**
 * Append the next part of a text that comes in pieces. Returns how many bytes were used: up to 3 at
 * the end can be the start of a character, and have to be given again before what follows.
 */
size_t kl_printable_part(struct kl_buf *out, const char *text, size_t len);
/** Number of bytes from the start that kl_printable_add() keeps; `len` if it keeps all. */
size_t kl_printable_span(const char *text, size_t len);

#endif
