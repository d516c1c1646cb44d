/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_RNG_H
#define KL_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

#include "base/chacha.h"
#include "base/key.h"

/*
 * rng - random numbers: the keystream of ChaCha20, so that nobody can compute further numbers from
 * those that they know. The same key gives the same numbers.
 *
 * Numbers that must be unpredictable are drawn under a secret key (key.h). Use kl_rng_seed() only
 * for others, because all seeds of 64 bits can be tried.
 */
#define KL_RNG_WORDS (KL_CHACHA_WIDE * KL_CHACHA_BYTES / 8)

struct kl_rng {
	uint64_t word[KL_RNG_WORDS]; /* numbers drawn in advance; those from `next` on are unused */
	size_t next;
	double spare; /* second normal of a pair; valid if has_spare */
	int has_spare;
	struct kl_chacha chacha;
};

/** Begin a stream; the streams of one key are as independent as those of different keys. */
void kl_rng_key(struct kl_rng *rng, const struct kl_key *key, uint64_t stream);
/**
 * Begin a stream under a random key from the operating system, which is not stored anywhere else.
 */
void kl_rng_fresh(struct kl_rng *rng);
/** Begin the stream that belongs to `seed`. */
void kl_rng_seed(struct kl_rng *rng, uint64_t seed);
uint64_t kl_rng_u64(struct kl_rng *rng);
/** Uniform in [0, 1), 53 bits. */
double kl_rng_uniform(struct kl_rng *rng);
/** Standard normal (polar method). */
double kl_rng_normal(struct kl_rng *rng);
/** Uniform in [0, n), n >= 1, unbiased. */
uint64_t kl_rng_below(struct kl_rng *rng, uint64_t n);
/** A seed from the operating system, never 0. */
uint64_t kl_rng_os_seed(void);
/** A bijection that scatters neighbours (the output step of splitmix64). */
uint64_t kl_rng_mix(uint64_t z);
/**
 * Derive a seed from `seed` and the number `which`. The result reveals neither `seed` nor the
 * result for another number.
 */
uint64_t kl_rng_split(uint64_t seed, uint64_t which);

#endif
