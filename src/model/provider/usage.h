/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_USAGE_H
#define KL_MODEL_PROVIDER_USAGE_H

#include "model/provider/message.h"
#include "text/json.h"

/*
 * usage - token counts as JSON: an object with input, output, cache_read, cache_write_5m and
 * cache_write_1h, or null if the provider reported nothing.
 */
json_t *kl_usage_json(const struct kl_usage *usage);

/** Read all five counts, or null. KL_EINVALID: another type, negative, or above 10^9. */
int kl_usage_read(struct kl_usage *out, const json_t *value);

#endif
