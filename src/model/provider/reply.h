/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_REPLY_H
#define KL_MODEL_PROVIDER_REPLY_H

#include "model/provider/message.h"
#include "text/json.h"

/*
 * reply - a reply as JSON: what an `exec` command answers and what a recording holds. Members
 * `text`; `model`, if it is known; `stop` ("end", "length", "refusal", "other"; absent: end);
 * `usage` with `input`, `output`, `cache_read`, `cache_write_5m`, `cache_write_1h` (the last three
 * may be absent: 0), or null, or `"unmetered": true` in its place.
 */

/**
 * Read with suspicion: KL_EINVALID where something is missing, of another type, negative or
 * absurdly large. `out` is empty before, and the caller's to release even on failure.
 */
int kl_reply_read(struct kl_reply *out, const json_t *obj);

/** A count of tokens as a server says it; KL_EINVALID: negative, no integer, or above 10^10. */
int kl_reply_tokens(int64_t *out, const json_t *obj, const char *key);

#endif
