/* SPDX-License-Identifier: Apache-2.0 */
#include "search/policy/draw.h"

#include <inttypes.h>
#include <stdio.h>

/* enough bytes for any int64_t in decimal, with sign and NUL */
#define NUMBER_BYTES 24

static void add_number(struct kl_digest *digest, int64_t number)
{
	char text[NUMBER_BYTES];

	snprintf(text, sizeof(text), "%" PRId64, number);
	kl_digest_adds(digest, text);
}

void kl_draw_key(char key[KL_DIGEST_HEX], const char *salt, const char *task, const char *policy,
		 int64_t seed)
{
	struct kl_digest *digest = kl_digest_new();

	kl_digest_adds(digest, "klineage.cell/1");
	kl_digest_adds(digest, salt);
	kl_digest_adds(digest, task);
	kl_digest_adds(digest, policy);
	add_number(digest, seed);
	kl_digest_end(digest, key);
}

void kl_draw_open(struct kl_rng *rng, const struct kl_draws *draws, const char *label)
{
	struct kl_digest *digest = kl_digest_new();
	char hex[KL_DIGEST_HEX];
	struct kl_key key;

	kl_digest_adds(digest, draws->key);
	add_number(digest, draws->ticket);
	kl_digest_adds(digest, label);
	kl_digest_end(digest, hex);
	kl_digest_bytes(key.byte, sizeof(key.byte), hex);
	kl_rng_key(rng, &key, 0);
}

double kl_draw_coin(const struct kl_draws *draws, const char *label)
{
	struct kl_rng rng;

	kl_draw_open(&rng, draws, label);
	return kl_rng_uniform(&rng);
}

size_t kl_draw_below(const struct kl_draws *draws, const char *label, size_t n)
{
	struct kl_rng rng;

	kl_draw_open(&rng, draws, label);
	return (size_t)kl_rng_below(&rng, n);
}

size_t kl_draw_weighted(struct kl_rng *rng, const double *weight, size_t n)
{
	double total = 0, sum = 0, mark;
	size_t last = 0;

	for (size_t i = 0; i < n; i++)
		total += weight[i];
	if (!(total > 0))
		return (size_t)kl_rng_below(rng, n);
	mark = kl_rng_uniform(rng) * total;
	for (size_t i = 0; i < n; i++) {
		sum += weight[i];
		if (sum > mark)
			return i;
		if (weight[i] > 0)
			last = i;
	}
	return last; /* because of rounding no cumulative weight was above the mark */
}

void kl_draw_sample(struct kl_rng *rng, int64_t *value, size_t n, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t with = i + (size_t)kl_rng_below(rng, n - i);
		int64_t drawn = value[with];

		value[with] = value[i];
		value[i] = drawn;
	}
}
