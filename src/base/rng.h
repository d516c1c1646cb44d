/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_RNG_H
#define KL_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

/*
 * rng - reproducible random numbers: xoshiro256**, seeded by splitmix64 (Blackman & Vigna 2018). A
 * seed has 64 bits. The gate draws one from the operating system and logs it, so that a failure
 * can be replayed.
 */
struct kl_rng {
	uint64_t s[4];
	double spare; /* second normal of a pair; valid if has_spare */
	int has_spare;
};

void kl_rng_seed(struct kl_rng *rng, uint64_t seed);
uint64_t kl_rng_u64(struct kl_rng *rng);
/** Uniform in [0, 1), 53 bits. */
double kl_rng_uniform(struct kl_rng *rng);
/** Standard normal (polar method). */
double kl_rng_normal(struct kl_rng *rng);
/** Uniform in [0, n), n >= 1, unbiased. */
uint64_t kl_rng_below(struct kl_rng *rng, uint64_t n);
/** Fill `data` with random bytes from the operating system; aborts if it has none. */
void kl_rng_os(void *data, size_t n);
/** A seed from the operating system, never 0. */
uint64_t kl_rng_os_seed(void);
/** A bijection that scatters neighbours (the output step of splitmix64). */
uint64_t kl_rng_mix(uint64_t z);
/** Derive a seed from `seed` and a label: each label gives an independent stream. */
uint64_t kl_rng_derive(uint64_t seed, const char *label);

#endif
