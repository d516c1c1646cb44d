/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_HTML_H
#define KL_TEXT_HTML_H

#include "base/buf.h"

/*
 * html - text that others wrote, made fit for HTML and SVG: as content and within quoted attributes. What XML
 * cannot hold (most control bytes) and what is no UTF-8 becomes U+FFFD.
 */
void kl_html_add(struct kl_buf *out, const char *text);
void kl_html_addn(struct kl_buf *out, const char *text, size_t n);
/** Of a format's result. */
void kl_html_addf(struct kl_buf *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
