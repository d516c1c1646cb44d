/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPORT_HIGHLIGHT_H
#define KL_REPORT_HIGHLIGHT_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * highlight - writes lines of C, C++ or CUDA as escaped HTML, with spans around tokens. Keywords,
 * strings, numbers and comments have spans. It goes line by line, so that parts of a file can be
 * written; a comment that began on an earlier line is kept in the state. Lexing never fails.
 */
struct kl_highlight {
	bool in_comment;
};

void kl_highlight_line(struct kl_buf *out, struct kl_highlight *state, const char *line, size_t n);
/** Check that a line has only comments and white space; updates the state as if it were written. */
bool kl_highlight_is_comment(struct kl_highlight *state, const char *line, size_t n);

#endif
