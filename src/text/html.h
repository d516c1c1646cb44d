/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_HTML_H
#define KL_TEXT_HTML_H

#include "base/buf.h"

/*
 * html - text that others wrote, made fit for HTML and SVG: as content and within quoted
 * attributes. What XML cannot hold (most control bytes), what is no UTF-8, and what turns the order
 * of the text (U+202E and its like, with which a diff reads as another one) becomes U+FFFD.
 */
void kl_html_add(struct kl_buf *out, const char *text);
void kl_html_addn(struct kl_buf *out, const char *text, size_t n);
/** Of a format's result. */
void kl_html_addf(struct kl_buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
