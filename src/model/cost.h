/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_COST_H
#define KL_MODEL_COST_H

#include "model/price.h"

/*
 * cost - computes the cost of an attempt from the usage that the provider reports.
 *
 * Some providers, gateways and local servers report token counts that cannot be right. A count is
 * believed only if it is possible for the request (model/provider/usage.h). If the model sees only
 * the request, the prompt has at most one token per byte of the request, plus KL_PRICE_ALLOWANCE
 * tokens that a provider can add, and the reply has at most as many tokens as it was allowed. If
 * the counts are not possible, the whole reserved amount is taken as the cost.
 *
 * The price in the price list is multiplied by the factor of the service tier and region that the
 * provider reports. If the provider itself states a higher cost, that cost is taken.
 *
 * The cost of a reply that broke off is an upper bound. It counts the tokens of the prompt, as
 * reported or as reserved; one token for each byte that arrived, or the reported output tokens if
 * these are more; the tokens that a fast model can have spent on hidden reasoning before its first
 * word; and KL_COST_UNSEEN tokens that the provider can have sent, but that did not arrive.
 */
#define KL_COST_UNSEEN 256
#define KL_COST_TOKENS_PER_SECOND 500
#define KL_COST_SLACK 16 /* tokens by which a reply can exceed its limit: end marks */

enum kl_cost_by {
	KL_COST_COUNTED,     /* from the tokens that the provider reports */
	KL_COST_ESTIMATED,   /* an upper bound: the reply broke off */
	KL_COST_RESERVED,    /* the whole reservation: no tokens were reported */
	KL_COST_IMPLAUSIBLE, /* the whole reservation: the reported tokens cannot be right */
	KL_COST_OPEN         /* unknown: the reservation stays open */
};

struct kl_cost_of {
	const struct kl_price *price; /* NULL if not metered */
	enum kl_cache_ttl cache;
	int64_t request_bytes;
	int64_t max_tokens;
	int64_t reserved; /* nano-dollars */
	/*
	 * the provider sees only the request, so the size of the request bounds the tokens of the
	 * prompt
	 */
	bool blind;
};

/**
 * Compute the cost of a complete reply. Set `reply->usage` to unknown if its counts are not
 * possible.
 */
enum kl_cost_by kl_cost_of_reply(int64_t *nano, const struct kl_cost_of *of,
				 struct kl_reply *reply);

/**
 * Compute the cost of a failed attempt. Set `reply->usage` to the tokens that the cost was computed
 * from; if it was computed from no tokens, the usage is unknown.
 */
enum kl_cost_by kl_cost_of_failure(int64_t *nano, const struct kl_cost_of *of,
				   struct kl_reply *reply);

#endif
