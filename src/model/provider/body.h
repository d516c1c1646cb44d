/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_BODY_H
#define KL_MODEL_PROVIDER_BODY_H

#include "base/buf.h"
#include "model/provider/message.h"

/*
 * body - writes JSON in a fixed byte order. A request must begin with the same bytes as the
 * previous request of its conversation, otherwise the provider's cache does not recognize the
 * beginning.
 */

/** Append `text` as a quoted JSON string. Invalid UTF-8 becomes U+FFFD. */
void kl_body_string(struct kl_buf *out, const char *text);
/** Append `"key":"value"`. */
void kl_body_member(struct kl_buf *out, const char *key, const char *value);

/**
 * Append the messages of a request, separated by commas. Each is an object with a member `role` and
 * a member whose name is `key`, which holds the text. Return the length of `out` at the end of the
 * last text.
 */
size_t kl_body_messages(struct kl_buf *out, const struct kl_provider_request *request,
			const char *key);

/**
 * Append untrusted text for use in a message: control characters and invalid UTF-8 become '?', and
 * each run of white space becomes one space. Append at most `max` bytes, and "..." if the text was
 * cut.
 */
void kl_body_quote(struct kl_buf *out, const char *text, size_t len, size_t max);

#endif
