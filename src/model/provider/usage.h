/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_USAGE_H
#define KL_MODEL_PROVIDER_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/provider/message.h"
#include "text/json.h"

/*
 * usage - token counts as JSON: an object with input, output, cache_read, cache_write_5m and
 * cache_write_1h, or null if the provider reported nothing.
 */
#define KL_USAGE_MAX INT64_C(1000000000) /* maximum count that is believed and stored */

json_t *kl_usage_json(const struct kl_usage *usage);

/**
 * Read an object with all five counts, or null. Return KL_EINVALID if the value has another form,
 * or a count is negative or above 10^10.
 */
int kl_usage_read(struct kl_usage *out, const json_t *value);

/** Return the tokens of the prompt, including those read from or written to a cache. */
int64_t kl_usage_prompt(const struct kl_usage *usage);
/** Add the counts of a reply to a sum. If the counts are known, the sum becomes known. */
void kl_usage_add(struct kl_usage *sum, const struct kl_usage *usage);

/** Bounds for the counts of one reply. */
struct kl_usage_bounds {
	int64_t prompt, output; /* maximum tokens of the prompt, and of the reply */
	bool replied;           /* the reply has text, so both counts are above 0 */
};
/** Return true if the counts are within the bounds. Unknown counts are possible. */
bool kl_usage_is_possible(const struct kl_usage *usage, const struct kl_usage_bounds *bounds);

#endif
