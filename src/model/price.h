/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PRICE_H
#define KL_MODEL_PRICE_H

#include "base/mem.h"
#include "model/provider/message.h"
#include "repo/repo.h"

/*
 * price - what a model's tokens cost, as whole nano-dollars a token.
 *
 * Looked for, first found: klineage.<model>.price of the configuration; the file that
 * klineage.chat.prices names; templates/prices.yaml; klineage.chat.price, the price of a model
 * that nobody else has one for. A model in a file has its own name, or that name with a snapshot
 * behind it ("-20251101", "-2026-09-29", "-latest"): no other prefix counts, since the next
 * model of a family costs something else. docs/formats.md, "Ledger and prices".
 */
struct kl_rates { /* nano-dollars a token: $1 for a million tokens is 1000 */
	int64_t input, output, cache_read, cache_write_5m, cache_write_1h;
};

struct kl_price {
	char *model; /* as the file or the configuration calls it */
	char *from;  /* "templates/prices.yaml:12, 2026-10-24" */
	struct kl_rates rates;
	int64_t long_tokens; /* a prompt of more costs `long_rates`, all of it; 0: none */
	struct kl_rates long_rates;
};

/** The five by the names that files have for them. */
#define KL_RATES 5
extern const char *const kl_rate_name[KL_RATES];
int64_t *kl_rate_at(struct kl_rates *rates, size_t i);

/** KL_EINVALID: a price that cannot be read, with its line, or none at all: how one is stated. */
int kl_price_find(struct kl_price **out, struct kl_repo *repo, const char *model);
void kl_price_free(struct kl_price *price);
KL_DEFINE_CLEANUP(struct kl_price *, kl_price_free)

/** All models of a price file, to check it; the path is named in errors. */
int kl_price_check_file(const char *path);
/** The same of its text; `*out` is the price of `model` in it, or NULL. */
int kl_price_parse(struct kl_price **out, const char *name, const char *text, size_t len,
		   const char *model);

/** Those that these tokens cost: of a long prompt, or of any other. */
const struct kl_rates *kl_price_rates(const struct kl_price *price, const struct kl_usage *usage);
/** At these rates; the counts must have been checked. */
int64_t kl_rates_cost(const struct kl_rates *rates, const struct kl_usage *usage);

/** What was used costs. KL_EINVALID: counts that cannot be (negative, beyond 10^9 tokens). */
int kl_price_cost(int64_t *nano, const struct kl_price *price, const struct kl_usage *usage);

/**
 * The worst that a request can cost: every byte of it a token, and KL_PRICE_ALLOWANCE tokens more
 * for what a provider puts around them, all at the dearest price that an input token can have with
 * this cache; and every token of the reply. `*fixed` is the first part, `*per_token` of the second.
 */
#define KL_PRICE_ALLOWANCE 1024
void kl_price_worst(int64_t *fixed, int64_t *per_token, const struct kl_price *price,
		    enum kl_cache_ttl cache, int64_t request_bytes);

#endif
