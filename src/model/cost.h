/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_COST_H
#define KL_MODEL_COST_H

#include "model/price.h"

/*
 * cost - computes what an attempt cost from what its provider reports.
 *
 * Providers, gateways and local servers report tokens in many ways, and some of it is nonsense. A
 * count is believed only if it is possible for the request (model/provider/usage.h): a token of the
 * prompt has at least one byte of the request, apart from KL_PRICE_ALLOWANCE tokens that a provider
 * can add, and a reply has no more tokens than it was allowed. A reply whose counts are not possible
 * costs what was reserved for it.
 *
 * The price of the list is multiplied by the factor of the service tier and region that the provider
 * reports, and a higher cost that it states itself is taken instead.
 *
 * A reply that broke off is estimated from above: by the prompt as reported or as reserved, and by
 * the bytes that arrived, the tokens that a fast model can have spent on hidden reasoning before
 * its first word, and KL_COST_UNSEEN tokens that were on their way.
 */
#define KL_COST_UNSEEN 256
#define KL_COST_TOKENS_PER_SECOND 500
#define KL_COST_SLACK 16 /* tokens by which a limit can be exceeded: end marks */

enum kl_cost_by {
	KL_COST_COUNTED,     /* the tokens that the provider reports */
	KL_COST_ESTIMATED,   /* bounds, after a reply broke off */
	KL_COST_RESERVED,    /* nothing is reported: the reservation */
	KL_COST_IMPLAUSIBLE, /* what is reported cannot be right: the reservation */
	KL_COST_OPEN         /* nothing is known: the reservation stays open */
};

struct kl_cost_of {
	const struct kl_price *price; /* NULL: not metered */
	enum kl_cache_ttl cache;
	int64_t request_bytes;
	int64_t max_tokens;
	int64_t reserved; /* nano-dollars */
	bool blind;       /* the provider sees only the request, so its size bounds the prompt */
};

/** Cost of a complete reply. Counts that are not possible become unknown. */
enum kl_cost_by kl_cost_of_reply(int64_t *nano, const struct kl_cost_of *of,
				 struct kl_reply *reply);

/** Cost of a failed attempt. The usage becomes the one that is counted, or unknown. */
enum kl_cost_by kl_cost_of_failure(int64_t *nano, const struct kl_cost_of *of,
				   struct kl_reply *reply);

#endif
