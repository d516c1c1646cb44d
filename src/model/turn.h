/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_TURN_H
#define KL_MODEL_TURN_H

#include "base/buf.h"
#include "model/conversation.h"

/* turn - the metadata of a turn as JSON: `meta.json` of its commit. */
void kl_turn_format(struct kl_buf *out, const struct kl_turn *turn, size_t number);

/**
 * Read all members of a turn except the user text, reply and key. Return KL_EINVALID if the JSON is
 * malformed, or belongs to a turn with another number than `number`.
 */
int kl_turn_parse(struct kl_turn *turn, const char *text, size_t number);

/**
 * Maximum bytes of each text in the metadata of a turn (model, request id ...). Such a text must
 * have no control characters.
 */
#define KL_TURN_TEXT 512

const char *kl_stop_name(enum kl_stop stop);      /* "end", "length", "refusal", "other" */
const char *kl_cache_name(enum kl_cache_ttl ttl); /* "none", "5m", "1h" */

#endif
