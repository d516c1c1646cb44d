/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel can foresee of its inputs: the attack that computed all of them while they came from
 * xoshiro256** seeded by splitmix64, on that generator and on what draws them now.
 */
#include "worker_fixture.h"

#include <math.h>

#include "base/rng.h"
#include "worker/gpu/bind.h"
#include "worker/pool/fill.h"

#define BITS 256
#define SEEN 256  /* values that the attack needs */
#define LATER 768 /* values that it is to predict */
#define GOLDEN 0x9e3779b97f4a7c15u

/* -- the generators, as published ------------------------------------------------ */

static uint64_t rotate(uint64_t bits, int n)
{
	return bits << n | bits >> (64 - n);
}

static void xoshiro_step(uint64_t s[4])
{
	uint64_t shifted = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = rotate(s[3], 45);
}

static uint64_t xoshiro_next(uint64_t s[4])
{
	uint64_t out = rotate(s[1] * 5, 7) * 9;

	xoshiro_step(s);
	return out;
}

static void splitmix_seed(uint64_t s[4], uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		s[i] = kl_rng_mix(seed += GOLDEN);
}

/* The inverse of z ^ z >> n. */
static uint64_t unshift(uint64_t z, int n)
{
	uint64_t out = z;

	for (int i = n; i < 64; i += n)
		out = z ^ out >> n;
	return out;
}

/* The inverse of kl_rng_mix(). */
static uint64_t unmix(uint64_t z)
{
	z = unshift(z, 31) * 0x319642b2d24d8ec3u;
	z = unshift(z, 27) * 0x96de1b173f119089u;
	return unshift(z, 30);
}

/* -- the attack -------------------------------------------------------------------- */

struct equation {
	uint64_t of[4]; /* the bits of the first state that it adds up */
	bool is;
};

static bool bit_of(const uint64_t words[4], int i)
{
	return words[i / 64] >> i % 64 & 1;
}

/*
 * The low byte of a value, times the inverse of 9, has bit 0 of s[1] as its highest bit, and that
 * is a sum of bits of the first state: one equation for each value.
 */
static void set_equations(struct equation *equation, const unsigned char *seen)
{
	memset(equation, 0, SEEN * sizeof(*equation));
	for (int i = 0; i < SEEN; i++)
		equation[i].is = (unsigned char)(seen[i] * 57) >> 7;
	for (int bit = 0; bit < BITS; bit++) {
		uint64_t s[4] = { 0 };

		s[bit / 64] = (uint64_t)1 << bit % 64;
		for (int i = 0; i < SEEN; i++, xoshiro_step(s))
			equation[i].of[bit / 64] |= (s[1] & 1) << bit % 64;
	}
}

static void add_equation(struct equation *to, const struct equation *from)
{
	for (int k = 0; k < 4; k++)
		to->of[k] ^= from->of[k];
	to->is ^= from->is;
}

/* Solve them for the first state; false if they have no single solution. */
static bool recover_state(uint64_t state[4], const unsigned char *seen)
{
	static struct equation equation[SEEN];

	set_equations(equation, seen);
	memset(state, 0, 4 * sizeof(*state));
	for (int bit = 0; bit < BITS; bit++) {
		int at = bit;

		while (at < SEEN && !bit_of(equation[at].of, bit))
			at++;
		if (at == SEEN)
			return false;
		if (at != bit) {
			struct equation swap = equation[at];

			equation[at] = equation[bit];
			equation[bit] = swap;
		}
		for (int i = 0; i < SEEN; i++)
			if (i != bit && bit_of(equation[i].of, bit))
				add_equation(&equation[i], &equation[bit]);
	}
	for (int bit = 0; bit < BITS; bit++)
		state[bit / 64] |= (uint64_t)equation[bit].is << bit % 64;
	return true;
}

/* How many of the later bytes it predicts from the first ones, and whether it finds a seed. */
static int predicted(const unsigned char bytes[SEEN + LATER], uint64_t *seed)
{
	uint64_t state[4], again[4];
	int n = 0;

	assert_true(recover_state(state, bytes));
	*seed = unmix(state[0]) - GOLDEN;
	splitmix_seed(again, *seed);
	if (memcmp(again, state, sizeof(state)))
		*seed = 0;
	for (int i = 0; i < SEEN; i++)
		xoshiro_step(state);
	for (int i = SEEN; i < SEEN + LATER; i++)
		n += (unsigned char)xoshiro_next(state) == bytes[i];
	return n;
}

static void the_attack_works_on_the_old_stream(void **state)
{
	unsigned char bytes[SEEN + LATER];
	uint64_t s[4], seed;

	splitmix_seed(s, 20260101);
	for (int i = 0; i < SEEN + LATER; i++)
		bytes[i] = (unsigned char)xoshiro_next(s);
	assert_int_equal(predicted(bytes, &seed), LATER);
	assert_int_equal(seed, 20260101);
}

static void it_predicts_nothing_of_a_member(void **state)
{
	static const int64_t extent[] = { SEEN + LATER };
	KL_AUTO(json_decrefp) json_t *fill = fx_json("{\"ints\":[-128,127]}");

	for (uint64_t key = 1; key <= 8; key++) {
		unsigned char bytes[SEEN + LATER];
		struct kl_fill_spec spec = {
			.fill = fill,
			.dtype = KL_I8,
			.extent = extent,
			.naxes = 1,
			.point = "case0",
			.factor = 1,
		};
		uint64_t seed;

		kl_key_master(&spec.key, key);
		assert_ok(kl_fill_make(bytes, &spec));
		for (int i = 0; i < SEEN + LATER; i++)
			bytes[i] ^= 0x80; /* -128 is draw 0 */
		/* 3 by chance */
		assert_true(predicted(bytes, &seed) < 16);
		assert_int_equal(seed, 0);
	}
}

/* -- fills ---------------------------------------------------------------------------- */

static void fill_with(void *out, enum kl_dtype dtype, const char *text, const struct kl_key *key,
		      int64_t n)
{
	KL_AUTO(json_decrefp) json_t *fill = fx_json(text);
	struct kl_fill_spec spec = {
		.fill = fill,
		.dtype = dtype,
		.extent = &n,
		.naxes = 1,
		.point = "case0",
		.key = *key,
		.factor = 1,
	};

	assert_ok(kl_fill_make(out, &spec));
}

#define MANY 100000

/* Chi-square of whole numbers and of normals by quantile; fixed keys, so it cannot flake. */
static void fills_are_even(void **state)
{
	static int32_t whole[MANY];
	static double normal[MANY];

	for (uint64_t seed = 1; seed <= 4; seed++) {
		int ints[10] = { 0 }, normals[10] = { 0 };
		double chi_ints = 0, chi_normals = 0;
		struct kl_key key;

		kl_key_master(&key, seed);
		fill_with(whole, KL_I32, "{\"ints\":[0,9]}", &key, MANY);
		fill_with(normal, KL_F64, "{\"normal\":[0.0,1.0]}", &key, MANY);
		for (int i = 0; i < MANY; i++) {
			int tenth = (int)(5 * erfc(-normal[i] * M_SQRT1_2));

			ints[whole[i]]++;
			normals[tenth < 9 ? tenth : 9]++;
		}
		for (int i = 0; i < 10; i++) {
			chi_ints += pow(ints[i] - MANY / 10, 2) / (MANY / 10.0);
			chi_normals += pow(normals[i] - MANY / 10, 2) / (MANY / 10.0);
		}
		/* 9 degrees of freedom: one in 10000 is above 33.7 */
		assert_true(chi_ints > 0.5 && chi_ints < 33.7);
		assert_true(chi_normals > 0.5 && chi_normals < 33.7);
	}
}

static double correlation(const double *left, const double *right, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += left[i] * right[i];
	return sum / n;
}

/* Neighbours, blocks of one tensor, and tensors under other labels have nothing in common. */
static void fills_do_not_correlate(void **state)
{
	enum { BLOCK = 65536 };
	static double left[2 * BLOCK], right[2 * BLOCK];
	struct kl_key key, a, b;
	const double most = 4.5 / sqrt(BLOCK);

	kl_key_master(&key, 11);
	a = kl_key_derive(&key, "A");
	b = kl_key_derive(&key, "B");
	fill_with(left, KL_F64, "{\"normal\":[0.0,1.0]}", &a, 2 * BLOCK);
	fill_with(right, KL_F64, "{\"normal\":[0.0,1.0]}", &b, 2 * BLOCK);
	for (int lag = 1; lag <= 64; lag++)
		assert_true(fabs(correlation(left, left + lag, BLOCK)) < most);
	assert_true(fabs(correlation(left, left + BLOCK, BLOCK)) < most);
	assert_true(fabs(correlation(left, right, BLOCK)) < most);
	assert_true(fabs(correlation(left + BLOCK, right, BLOCK)) < most);
}

/* -- poison on a GPU ------------------------------------------------------------------- */

/*
 * A word of a pattern gives its seed away. It was that of the call, stirred with the number of the
 * tensor, so that it gave the patterns of all other tensors and calls too.
 */
static void a_pattern_tells_of_no_other(void **state)
{
	const struct kl_gpu_tensor_layout layout = { .tensor = true };

	for (uint64_t seed = 2; seed < 100; seed += 2) {
		uint64_t first = kl_gpu_set_pattern(&layout, 0, seed).seed;
		uint64_t second = kl_gpu_set_pattern(&layout, 1, seed).seed;
		uint64_t next = kl_gpu_set_pattern(&layout, 0, seed + 2).seed;

		assert_int_equal(unmix(kl_rng_mix(first)), first);
		assert_true(unmix(second) - unmix(first) != GOLDEN);
		assert_true(unmix(next) - unmix(first) != 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_attack_works_on_the_old_stream),
		cmocka_unit_test(it_predicts_nothing_of_a_member),
		cmocka_unit_test(fills_are_even),
		cmocka_unit_test(fills_do_not_correlate),
		cmocka_unit_test(a_pattern_tells_of_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
