/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_HTML_H
#define KL_TEXT_HTML_H

#include "base/buf.h"

/*
 * html - escapes untrusted text for HTML and SVG, as content or within quoted attributes.
 *
 * Bytes that XML does not allow (most control bytes), bytes that are not UTF-8, and characters
 * that change the text direction (such as U+202E, which can disguise a diff) become U+FFFD.
 */
void kl_html_add(struct kl_buf *out, const char *text);
void kl_html_addn(struct kl_buf *out, const char *text, size_t n);
/** Format like printf(), and append the whole result escaped. */
void kl_html_addf(struct kl_buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
