/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include <math.h>
#include <string.h>

uint64_t kl_rng_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void kl_rng_key(struct kl_rng *rng, const struct kl_key *key, uint64_t stream)
{
	memcpy(rng->chacha.key, key, sizeof(rng->chacha.key));
	rng->chacha.counter = 0;
	rng->chacha.nonce[0] = 0;
	rng->chacha.nonce[1] = (uint32_t)stream;
	rng->chacha.nonce[2] = (uint32_t)(stream >> 32);
	rng->next = KL_RNG_WORDS;
	rng->has_spare = 0;
}

void kl_rng_fresh(struct kl_rng *rng)
{
	struct kl_key key;

	kl_key_master(&key, 0);
	kl_rng_key(rng, &key, 0);
}

/*
 * Make a key from a number and a purpose. The same number gives a different key for each purpose.
 */
static struct kl_key key_of_number(uint64_t number, const char purpose[25])
{
	struct kl_key key;

	memcpy(key.byte, &number, sizeof(number));
	memcpy(key.byte + sizeof(number), purpose, sizeof(key) - sizeof(number));
	return key;
}

void kl_rng_seed(struct kl_rng *rng, uint64_t seed)
{
	const struct kl_key key = key_of_number(seed, "git-klineage: draw by it");

	kl_rng_key(rng, &key, 0);
}

static void draw_words(struct kl_rng *rng)
{
	/* use another nonce before the counter wraps, after 2^38 bytes */
	if (rng->chacha.counter > UINT32_MAX - KL_CHACHA_WIDE) {
		rng->chacha.counter = 0;
		rng->chacha.nonce[0]++;
	}
	kl_chacha_blocks(&rng->chacha, rng->word, KL_CHACHA_WIDE);
	rng->next = 0;
}

uint64_t kl_rng_u64(struct kl_rng *rng)
{
	if (rng->next == KL_RNG_WORDS)
		draw_words(rng);
	return rng->word[rng->next++];
}

double kl_rng_uniform(struct kl_rng *rng)
{
	return (double)(kl_rng_u64(rng) >> 11) * 0x1p-53;
}

double kl_rng_normal(struct kl_rng *rng)
{
	double u, v, square, factor;

	if (rng->has_spare) {
		rng->has_spare = 0;
		return rng->spare;
	}
	do {
		u = 2 * kl_rng_uniform(rng) - 1;
		v = 2 * kl_rng_uniform(rng) - 1;
		square = u * u + v * v;
	} while (square >= 1 || square == 0);
	factor = sqrt(-2 * log(square) / square);
	rng->spare = v * factor;
	rng->has_spare = 1;
	return u * factor;
}

uint64_t kl_rng_below(struct kl_rng *rng, uint64_t n)
{
	uint64_t limit = -n % n; /* 2^64 mod n: draws below this are rejected */
	uint64_t draw;

	do
		draw = kl_rng_u64(rng);
	while (draw < limit);
	return draw % n;
}

static void swap_bytes(char *left, char *right, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		char byte = left[i];

		left[i] = right[i];
		right[i] = byte;
	}
}

void kl_rng_shuffle(struct kl_rng *rng, void *base, size_t n, size_t size)
{
	char *at = base;

	for (size_t i = n; i > 1; i--)
		swap_bytes(at + (i - 1) * size, at + kl_rng_below(rng, i) * size, size);
}

uint64_t kl_rng_os_seed(void)
{
	uint64_t seed;

	do
		kl_key_random(&seed, sizeof(seed));
	while (!seed);
	return seed;
}

uint64_t kl_rng_split(uint64_t seed, uint64_t which)
{
	const struct kl_key key = key_of_number(seed, "git-klineage: derive one");
	struct kl_rng rng;

	kl_rng_key(&rng, &key, which);
	return kl_rng_u64(&rng);
}
