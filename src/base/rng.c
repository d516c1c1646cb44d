/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include <errno.h>
#include <math.h>
#include <sys/random.h>

#include "base/error.h"

uint64_t kl_rng_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint64_t split_mix(uint64_t *state)
{
	return kl_rng_mix(*state += 0x9e3779b97f4a7c15u);
}

void kl_rng_seed(struct kl_rng *rng, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		rng->s[i] = split_mix(&seed);
	rng->has_spare = 0;
}

static uint64_t rotate_left(uint64_t bits, int k)
{
	return (bits << k) | (bits >> (64 - k));
}

uint64_t kl_rng_u64(struct kl_rng *rng)
{
	uint64_t *state = rng->s;
	uint64_t out = rotate_left(state[1] * 5, 7) * 9;
	uint64_t shifted = state[1] << 17;

	state[2] ^= state[0];
	state[3] ^= state[1];
	state[1] ^= state[2];
	state[0] ^= state[3];
	state[2] ^= shifted;
	state[3] = rotate_left(state[3], 45);
	return out;
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
	uint64_t limit = -n % n; /* 2^64 mod n; reject draws below it */
	uint64_t draw;

	do
		draw = kl_rng_u64(rng);
	while (draw < limit);
	return draw % n;
}

void kl_rng_os(void *data, size_t n)
{
	unsigned char *at = data;

	while (n) {
		ssize_t got = getrandom(at, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			KL_BUG("getrandom failed");
		at += got;
		n -= (size_t)got;
	}
}

uint64_t kl_rng_os_seed(void)
{
	uint64_t seed;

	do
		kl_rng_os(&seed, sizeof(seed));
	while (!seed);
	return seed;
}

uint64_t kl_rng_derive(uint64_t seed, const char *label)
{
	uint64_t state = seed;

	for (; *label; label++)
		state = split_mix(&state) ^ (unsigned char)*label;
	return split_mix(&state);
}
