/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_REPLY_H
#define KL_MODEL_PROVIDER_REPLY_H

#include "model/provider/message.h"
#include "text/json.h"

/*
 * reply - reads a reply as JSON: from an `exec` command or a recording. Members: `text`; `model`,
 * if known; `stop` ("end", "length", "refusal", "other"; absent: end); `flaw` (flaw.h; absent:
 * none); `usage` with `input`, `output`, `cache_read`, `cache_write_5m`, `cache_write_1h` (the last
 * three can be absent: 0), or null, or `"unmetered": true` in its place.
 */

/**
 * Read an untrusted reply. Return KL_EINVALID if a member is missing, of another type, negative or
 * too large. `out` must be empty; the caller releases it, even on failure.
 */
int kl_reply_read(struct kl_reply *out, const json_t *obj);

/**
 * Return true if `n` can be stored as a count of tokens: not negative, and small enough that sums
 * do not overflow. Whether the count is right is decided later (model/cost.h).
 */
bool kl_reply_is_count(int64_t n);
/** Replace the owned text `*to` by a copy of `text`, which can be NULL. */
void kl_reply_set(char **to, const char *text);

#endif
