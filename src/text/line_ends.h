/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_LINE_ENDS_H
#define KL_TEXT_LINE_ENDS_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * line_ends - texts whose lines end in CR LF: lines in cards end in LF, while sources keep their
 * line ends.
 */

/** Check that the first line of a text ends in CR LF. */
bool kl_line_ends_are_crlf(const char *text, size_t len);
/** Return a copy in which LF replaces each CR LF; the caller frees it. */
char *kl_line_ends_to_lf(const char *text, size_t len);
/** Return a copy in which CR LF replaces each LF without a CR; the caller frees it. */
char *kl_line_ends_to_crlf(const char *text, size_t len);

#endif
