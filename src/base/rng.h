/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_RNG_H
#define KL_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

/*
 * rng - reproducible random numbers: xoshiro256**, seeded by splitmix64 (Blackman & Vigna 2018). A
 * seed is 64 bits; the gate draws it from the operating system and logs it, so that a failure can
 * be replayed.
 */
struct kl_rng {
	uint64_t s[4];
	double spare; /* second normal of a pair */
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
/** Fill from the operating system; never fails. */
void kl_rng_os(void *data, size_t n);
uint64_t kl_rng_os_seed(void);
/** A bijection that scatters neighbours (the output step of splitmix64). */
uint64_t kl_rng_mix(uint64_t value);
/** A seed derived from `seed` and a label: independent streams by name. */
uint64_t kl_rng_derive(uint64_t seed, const char *label);

#endif
