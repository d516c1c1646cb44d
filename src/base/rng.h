/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_RNG_H
#define KL_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

#include "base/chacha.h"
#include "base/key.h"

/*
 * rng - random numbers: the keystream of ChaCha20, so that some of the numbers do not reveal the
 * others. The same key gives the same numbers.
 *
 * Use a secret key (key.h) if the numbers must be unpredictable. kl_rng_seed() is not secure: an
 * attacker can try all 2^64 seeds.
 */
#define KL_RNG_WORDS (KL_CHACHA_WIDE * KL_CHACHA_BYTES / 8)

struct kl_rng {
	/* numbers made in advance; the numbers from index `next` on are unused */
	uint64_t word[KL_RNG_WORDS];
	size_t next;
	double spare; /* second normal of a pair; valid if has_spare */
	int has_spare;
	struct kl_chacha chacha;
};

/**
 * Begin stream number `stream` of `key`. The streams of one key are as independent of each other as
 * the streams of different keys.
 */
void kl_rng_key(struct kl_rng *rng, const struct kl_key *key, uint64_t stream);
/** Begin a stream under a random key from the operating system. The key is stored only in `rng`. */
void kl_rng_fresh(struct kl_rng *rng);
/** Begin the stream of `seed`. The same seed gives the same numbers. */
void kl_rng_seed(struct kl_rng *rng, uint64_t seed);
uint64_t kl_rng_u64(struct kl_rng *rng);
/** Return a number that is uniform in [0, 1) and has 53 random bits. */
double kl_rng_uniform(struct kl_rng *rng);
/** Return a standard normal number (polar method). */
double kl_rng_normal(struct kl_rng *rng);
/** Return an unbiased uniform integer in [0, n); `n` must be at least 1. */
uint64_t kl_rng_below(struct kl_rng *rng, uint64_t n);
/**
 * Put the `n` elements of `size` bytes at `base` in random order; all orders are equally likely.
 */
void kl_rng_shuffle(struct kl_rng *rng, void *base, size_t n, size_t size);
/** Return a random seed from the operating system, never 0. */
uint64_t kl_rng_os_seed(void);
/**
 * Return a one-to-one function of `z` that scatters neighbouring numbers (the output step of
 * splitmix64).
 */
uint64_t kl_rng_mix(uint64_t z);
/**
 * Derive a seed from `seed` and the number `which`. The result reveals neither `seed` nor the
 * result for another number.
 */
uint64_t kl_rng_split(uint64_t seed, uint64_t which);

#endif
