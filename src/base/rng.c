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

static uint64_t split_mix(uint64_t *x)
{
	return kl_rng_mix(*x += 0x9e3779b97f4a7c15u);
}

void kl_rng_seed(struct kl_rng *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		r->s[i] = split_mix(&seed);
	r->has_spare = 0;
}

static uint64_t rotate_left(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

uint64_t kl_rng_u64(struct kl_rng *r)
{
	uint64_t *s = r->s;
	uint64_t out = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return out;
}

double kl_rng_uniform(struct kl_rng *r)
{
	return (double)(kl_rng_u64(r) >> 11) * 0x1p-53;
}

double kl_rng_normal(struct kl_rng *r)
{
	double u, v, q, f;

	if (r->has_spare) {
		r->has_spare = 0;
		return r->spare;
	}
	do {
		u = 2 * kl_rng_uniform(r) - 1;
		v = 2 * kl_rng_uniform(r) - 1;
		q = u * u + v * v;
	} while (q >= 1 || q == 0);
	f = sqrt(-2 * log(q) / q);
	r->spare = v * f;
	r->has_spare = 1;
	return u * f;
}

uint64_t kl_rng_below(struct kl_rng *r, uint64_t n)
{
	uint64_t limit = -n % n; /* 2^64 mod n: reject below it */
	uint64_t x;

	do
		x = kl_rng_u64(r);
	while (x < limit);
	return x % n;
}

void kl_rng_os(void *p, size_t n)
{
	unsigned char *at = p;

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
	uint64_t x = seed;

	for (; *label; label++)
		x = split_mix(&x) ^ (unsigned char)*label;
	return split_mix(&x);
}
