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
#define KL_USAGE_MAX INT64_C(1000000000) /* the greatest count that is believed and stored */

json_t *kl_usage_json(const struct kl_usage *usage);

/** Read all five counts, or null. KL_EINVALID: another type, negative, or above 10^10. */
int kl_usage_read(struct kl_usage *out, const json_t *value);

/** Tokens of the prompt, wherever they were read from or written to. */
int64_t kl_usage_prompt(const struct kl_usage *usage);
/** Add the counts of a reply to a sum, which is known if one of them is. */
void kl_usage_add(struct kl_usage *sum, const struct kl_usage *usage);

/** What bounds the counts of one reply. */
struct kl_usage_bounds {
	int64_t prompt, output; /* the most tokens that the request can have and that it allows */
	bool replied;           /* the reply has text, so both counts are above 0 */
};
/** Can the counts be those of such a reply? Unknown counts can. */
bool kl_usage_is_possible(const struct kl_usage *usage, const struct kl_usage_bounds *bounds);

#endif
