/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PRICE_H
#define KL_MODEL_PRICE_H

#include "base/mem.h"
#include "model/provider/message.h"
#include "repo/repo.h"

/*
 * price - finds the price of a model's tokens and computes costs. Prices are in pico-dollars
 * (10^-12 dollars) per token, since some have four or more decimals per million tokens; costs are
 * in nano-dollars, rounded once per request.
 *
 * The first of these sources that has a price wins: klineage.<model>.price in the configuration;
 * the file that klineage.chat.prices names; templates/prices.yaml; klineage.chat.price, which
 * applies to any model. An entry of a price file is for the model of its name, with or without a
 * snapshot suffix ("-20251101", "-2026-09-29", "-latest"). A name with any other suffix does not
 * match, because that model can have another price. docs/formats.md, "Ledger and prices".
 */
#define KL_PICO 1000 /* pico-dollars in a nano-dollar */
struct kl_rates {    /* pico-dollars per token: $1 per million tokens is 1000000 */
	int64_t input, output, cache_read, cache_write_5m, cache_write_1h;
};

struct kl_price {
	char *model; /* name in the file or the configuration */
	char *from;  /* source, such as "templates/prices.yaml:12, 2026-10-24" */
	struct kl_rates rates;
	/*
	 * if the prompt has more tokens than this, `long_rates` apply to all tokens; 0 if the price
	 * has no `long_rates`
	 */
	int64_t long_tokens;
	struct kl_rates long_rates;
};

/** Number of rates, their names in price files, and a rate by its index. */
#define KL_RATES 5
extern const char *const kl_rate_name[KL_RATES];
int64_t *kl_rate_at(struct kl_rates *rates, size_t i);

/**
 * Find the price of a model. Return KL_EINVALID if a price file is malformed (the message gives the
 * line), or no source has a price (the hint says how to add one).
 */
int kl_price_find(struct kl_price **out, struct kl_repo *repo, const char *model);
void kl_price_free(struct kl_price *price);
/**
 * Return true if `text` is the snapshot suffix of a model's name: "-20251101", "-2026-09-29",
 * "-latest".
 */
bool kl_price_is_snapshot(const char *text);
KL_DEFINE_CLEANUP(struct kl_price *, kl_price_free)

/** Check all models of a price file. Errors name the path. */
int kl_price_check_file(const char *path);
/** Check the text of a price file. Set `*out` to the price of `model` in it, or NULL. */
int kl_price_parse(struct kl_price **out, const char *name, const char *text, size_t len,
		   const char *model);

/** Return the rates that apply to these tokens: `long_rates` or `rates` of the price; borrowed. */
const struct kl_rates *kl_price_rates(const struct kl_price *price, const struct kl_usage *usage);
/**
 * Return the cost at these rates times `permille` / 1000, rounded to the nearest nano-dollar, so
 * that over many requests the rounding errors cancel out and the sum agrees with the bill. The
 * counts must have been checked: from 0 to KL_USAGE_MAX.
 */
int64_t kl_rates_cost(const struct kl_rates *rates, const struct kl_usage *usage, int64_t permille);

/**
 * Compute the cost of the tokens used, times `permille` / 1000. Return KL_EINVALID for impossible
 * counts (negative or above 10^9).
 */
int kl_price_cost(int64_t *nano, const struct kl_price *price, const struct kl_usage *usage,
		  int64_t permille);

/**
 * Compute the worst-case cost of a request, in nano-dollars. `*fixed` is for the prompt: one token
 * per byte of the request plus KL_PRICE_ALLOWANCE tokens that a provider can add, all at the
 * highest price of an input token with this cache. `*per_token` is for each token of the reply. Both
 * are rounded up, so that no request costs more.
 */
#define KL_PRICE_ALLOWANCE 1024
void kl_price_worst(int64_t *fixed, int64_t *per_token, const struct kl_price *price,
		    enum kl_cache_ttl cache, int64_t request_bytes);

#endif
