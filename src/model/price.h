/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PRICE_H
#define KL_MODEL_PRICE_H

#include "base/mem.h"
#include "model/provider/message.h"
#include "repo/repo.h"

/*
 * price - finds the price of a model's tokens and computes costs, in nano-dollars per token.
 *
 * Sources, the first match wins: klineage.<model>.price of the configuration; the file named by
 * klineage.chat.prices; templates/prices.yaml; klineage.chat.price, the price of any other model.
 * An entry of a file matches its own name and that name with a snapshot suffix ("-20251101",
 * "-2026-09-29", "-latest"). No other suffix matches, since another model of a family can have
 * another price. docs/formats.md, "Ledger and prices".
 */
struct kl_rates { /* nano-dollars per token: $1 per million tokens is 1000 */
	int64_t input, output, cache_read, cache_write_5m, cache_write_1h;
};

struct kl_price {
	char *model; /* name in the file or the configuration */
	char *from;  /* source, "templates/prices.yaml:12, 2026-10-24" */
	struct kl_rates rates;
	int64_t long_tokens; /* if the prompt has more tokens, `long_rates` apply to all; 0: none */
	struct kl_rates long_rates;
};

/** The five rates by index, and their names in price files. */
#define KL_RATES 5
extern const char *const kl_rate_name[KL_RATES];
int64_t *kl_rate_at(struct kl_rates *rates, size_t i);

/**
 * KL_EINVALID: the price table is malformed (message gives the line) or has no entry (hint says how
 * to add one).
 */
int kl_price_find(struct kl_price **out, struct kl_repo *repo, const char *model);
void kl_price_free(struct kl_price *price);
/** Is it the snapshot suffix of a model's name: "-20251101", "-2026-09-29", "-latest"? */
bool kl_price_is_snapshot(const char *text);
KL_DEFINE_CLEANUP(struct kl_price *, kl_price_free)

/** Check all models of a price file. Errors name the path. */
int kl_price_check_file(const char *path);
/** Check the text of a price file. Sets `*out` to the price of `model` in it, or NULL. */
int kl_price_parse(struct kl_price **out, const char *name, const char *text, size_t len,
		   const char *model);

/** The rates that apply to these tokens: those of long prompts or the normal ones; borrowed. */
const struct kl_rates *kl_price_rates(const struct kl_price *price, const struct kl_usage *usage);
/** Cost at these rates, nano-dollars; the counts must have been checked. */
int64_t kl_rates_cost(const struct kl_rates *rates, const struct kl_usage *usage);

/** Cost of the tokens used. KL_EINVALID: impossible counts (negative or above 10^9). */
int kl_price_cost(int64_t *nano, const struct kl_price *price, const struct kl_usage *usage);

/**
 * Worst-case cost of a request. `*fixed`: one token per byte of the request plus KL_PRICE_ALLOWANCE
 * tokens that a provider can add, all at the highest price of an input token with this cache.
 * `*per_token`: price of each token of the reply.
 */
#define KL_PRICE_ALLOWANCE 1024
void kl_price_worst(int64_t *fixed, int64_t *per_token, const struct kl_price *price,
		    enum kl_cache_ttl cache, int64_t request_bytes);

#endif
