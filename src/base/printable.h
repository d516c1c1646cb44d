/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_PRINTABLE_H
#define KL_BASE_PRINTABLE_H

#include "base/buf.h"

/*
 * printable - makes untrusted text safe to print on a terminal.
 *
 * The author of an event, a card, a commit or a message must not control the terminal of its
 * reader. An ASCII control character, and a byte that is not part of valid UTF-8, become hex like
 * `\x1b`. Any other character that controls the terminal, changes the direction of text or is
 * invisible becomes a code point like `<U+202E>`. Newline and tab are kept, except by
 * kl_printable_line(). Safe text is kept byte for byte, so a second conversion changes nothing. The
 * conversion cannot be undone, because the original text can contain `\x1b`, too.
 *
 * These characters are replaced: U+0000-1F (but see newline and tab above), U+007F-9F, U+061C,
 * U+2028-202E, U+2060-206F, and other invisible characters: soft hyphen, grapheme joiner,
 * zero-width characters, fillers, byte order mark, tags (the table in printable.c is complete).
 */

/** Append `text`, made safe to print. */
void kl_printable_add(struct kl_buf *out, const char *text, size_t len);
/** Append `text` as one line: newline and tab become `\x0a` and `\x09`. */
void kl_printable_line(struct kl_buf *out, const char *text, size_t len);
/**
 * Append the next part of a text that arrives in parts, and return how many of its bytes were used.
 * Up to 3 bytes at the end are left unused if they can be the start of a character; the caller must
 * put these bytes before the next part.
 */
size_t kl_printable_part(struct kl_buf *out, const char *text, size_t len);
/**
 * Return the length of the longest prefix that kl_printable_add() appends unchanged; `len` if it
 * appends all of `text` unchanged.
 */
size_t kl_printable_span(const char *text, size_t len);

#endif
