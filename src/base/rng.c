/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include <errno.h>
#include <math.h>
#include <sys/random.h>

#include "base/error.h"

uint64_t kl_rng_mix(uint64_t depth)
{
	depth = (depth ^ (depth >> 30)) * 0xbf58476d1ce4e5b9u;
	depth = (depth ^ (depth >> 27)) * 0x94d049bb133111ebu;
	return depth ^ (depth >> 31);
}

static uint64_t split_mix(uint64_t *values)
{
	return kl_rng_mix(*values += 0x9e3779b97f4a7c15u);
}

void kl_rng_seed(struct kl_rng *rng, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		rng->s[i] = split_mix(&seed);
	rng->has_spare = 0;
}

static uint64_t rotate_left(uint64_t value, int k)
{
	return (value << k) | (value >> (64 - k));
}

uint64_t kl_rng_u64(struct kl_rng *rng)
{
	uint64_t *values = rng->s;
	uint64_t out = rotate_left(values[1] * 5, 7) * 9;
	uint64_t turn = values[1] << 17;

	values[2] ^= values[0];
	values[3] ^= values[1];
	values[1] ^= values[2];
	values[0] ^= values[3];
	values[2] ^= turn;
	values[3] = rotate_left(values[3], 45);
	return out;
}

double kl_rng_uniform(struct kl_rng *rng)
{
	return (double)(kl_rng_u64(rng) >> 11) * 0x1p-53;
}

double kl_rng_normal(struct kl_rng *rng)
{
	double unit, value, quantile, factor;

	if (rng->has_spare) {
		rng->has_spare = 0;
		return rng->spare;
	}
	do {
		unit = 2 * kl_rng_uniform(rng) - 1;
		value = 2 * kl_rng_uniform(rng) - 1;
		quantile = unit * unit + value * value;
	} while (quantile >= 1 || quantile == 0);
	factor = sqrt(-2 * log(quantile) / quantile);
	rng->spare = value * factor;
	rng->has_spare = 1;
	return unit * factor;
}

uint64_t kl_rng_below(struct kl_rng *rng, uint64_t n)
{
	uint64_t limit = -n % n; /* 2^64 mod n: reject below it */
	uint64_t value;

	do
		value = kl_rng_u64(rng);
	while (value < limit);
	return value % n;
}

void kl_rng_os(void *data, size_t n)
{
	unsigned char *at = data;

	while (n) {
		ssize_t got = getrandom(at, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			KL_BUG("the system gives no random numbers");
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
	uint64_t value = seed;

	for (; *label; label++)
		value = split_mix(&value) ^ (unsigned char)*label;
	return split_mix(&value);
}
