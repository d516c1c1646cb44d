/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "model/price.h"

#define DEAREST (10000000 * (int64_t)KL_PICO) /* a token: $10000 for a million */

static void check_rates(const struct kl_rates *rates)
{
	struct kl_rates copy = *rates;

	for (size_t i = 0; i < KL_RATES; i++)
		MUST(*kl_rate_at(&copy, i) >= 0 && *kl_rate_at(&copy, i) <= DEAREST);
}

/*
 * Whatever the tokens of a request are, short or long, they cost no more than what is reserved for
 * it.
 */
static void check_worst(const struct kl_price *price)
{
	static const int64_t bytes[] = { 0, 3000, 300000, 60000000 };

	for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++)
		for (int kind = 0; kind < 4; kind++) {
			struct kl_usage usage = { .known = true, .output = 5000 };
			int64_t *to[] = { &usage.input, &usage.cache_read, &usage.cache_write_5m,
					  &usage.cache_write_1h };
			int64_t fixed, per_token, nano;

			*to[kind] = bytes[i];
			kl_price_worst(&fixed, &per_token, price,
				       kind == 3 ? KL_CACHE_1H : KL_CACHE_5M, bytes[i]);
			MUST(kl_price_cost(&nano, price, &usage, 1000) == 0);
			MUST(fixed >= 0 && per_token >= 0 && nano >= 0);
			MUST(nano <= fixed + per_token * usage.output);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_price_freep) struct kl_price *price = NULL;

	if (kl_price_parse(&price, "prices.yaml", (const char *)data, size, "m") == 0 && price) {
		check_rates(&price->rates);
		check_rates(&price->long_rates);
		MUST(price->long_tokens >= 0 && price->from && price->model);
		check_worst(price);
	}
	kl_error_clear();
	return 0;
}
