/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_BODY_H
#define KL_MODEL_PROVIDER_BODY_H

#include "base/buf.h"

/*
 * body - writes JSON by hand, in a fixed order: a request must begin with the very bytes of the
 * one before it, or no cache of the provider will know it again.
 */

/** `text` as a JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD. */
void kl_body_string(struct kl_buf *out, const char *text);
/** `"key":"value"` */
void kl_body_member(struct kl_buf *out, const char *key, const char *value);

/**
 * Text of others on its way into a message for a person: controls and what is no UTF-8 become
 * '?', white space runs one space; at most `max` bytes, "..." after what was cut.
 */
void kl_body_quote(struct kl_buf *out, const char *text, size_t len, size_t max);

#endif
