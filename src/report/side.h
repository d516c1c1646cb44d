/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPORT_SIDE_H
#define KL_REPORT_SIDE_H

#include "base/buf.h"

/*
 * side - writes a unified diff as HTML with the old and the new lines side by side. Lines have
 * numbers, signs and highlighting. A hunk that changes only comments is folded. On a narrow screen
 * the style of the page puts the new lines below the old ones.
 */
void kl_side_by_side(struct kl_buf *out, const char *diff, size_t len);

#endif
