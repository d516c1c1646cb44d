/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions under which a kernel is faster: planted ones are found, and noise gives none. */
#include "test.h"

#include "base/rng.h"
#include "probe/useful.h"

#define MOST 64

struct sample {
	int64_t value[MOST * 3];
	bool gain[MOST];
	struct kl_useful_data data;
};

/* Draw points with two extents and their product, over four decades. */
static void draw(struct sample *out, size_t n, struct kl_rng *rng)
{
	for (size_t i = 0; i < n; i++) {
		int64_t *value = &out->value[3 * i];

		value[0] = 1 + (int64_t)(1e4 * kl_rng_uniform(rng) * kl_rng_uniform(rng));
		value[1] = 1 + (int64_t)(1e4 * kl_rng_uniform(rng) * kl_rng_uniform(rng));
		value[2] = value[0] * value[1];
	}
	out->data = (struct kl_useful_data){ n, 3, out->value, out->gain };
}

static void a_planted_bound_is_found(void **state)
{
	size_t judged = 0, right = 0;

	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct sample sample;
		struct kl_useful useful;
		struct kl_rng rng;
		size_t figure = seed % 3, gains = 0;
		int64_t bound;

		kl_rng_seed(&rng, seed);
		draw(&sample, 40, &rng);
		bound = sample.value[figure]; /* that of a point, so that both sides have points */
		for (size_t i = 0; i < 40; i++) {
			sample.gain[i] = (sample.value[3 * i + figure] >= bound) == (seed % 2);
			gains += sample.gain[i];
		}
		if (gains < 8 || gains > 32)
			continue;
		kl_useful_fit(&useful, &sample.data);
		assert_int_equal(useful.end, KL_USEFUL_BOUND);
		assert_int_equal(useful.figure, figure);
		assert_int_equal(useful.above, seed % 2);
		assert_int_equal(useful.wrong, 0);
		/* fitted to 20 points, it misses less than half of what a constant misses */
		assert_true(2 * (40 - useful.right) < 40 - useful.constant);
		judged += 40;
		right += useful.right;
		assert_true(useful.chance_ppm <= 1000);
		for (size_t i = 0; i < 40; i++)
			assert_int_equal(kl_useful_holds(&useful, sample.value[3 * i + figure]),
					 sample.gain[i]);
	}
	assert_true(judged >= 200);
	assert_true(10 * right >= 9 * judged);
}

static void noise_gives_no_condition(void **state)
{
	size_t found = 0;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct sample sample;
		struct kl_useful useful;
		struct kl_rng rng;

		kl_rng_seed(&rng, seed);
		draw(&sample, 24, &rng);
		for (size_t i = 0; i < 24; i++)
			sample.gain[i] = kl_rng_below(&rng, 2);
		kl_useful_fit(&useful, &sample.data);
		found += useful.end == KL_USEFUL_BOUND;
	}
	/* one in twenty is the promise; more than 11 of 100 would then be one in a hundred */
	assert_true(found <= 11);
}

static void a_bound_survives_a_few_wrong_points(void **state)
{
	struct sample sample;
	struct kl_useful useful;
	struct kl_rng rng;

	kl_rng_seed(&rng, 3);
	draw(&sample, 40, &rng);
	for (size_t i = 0; i < 40; i++)
		sample.gain[i] = (sample.value[3 * i] >= 2000) != (i == 7 || i == 21);
	kl_useful_fit(&useful, &sample.data);
	assert_int_equal(useful.end, KL_USEFUL_BOUND);
	assert_int_equal(useful.figure, 0);
	assert_int_equal(useful.wrong, 2);
}

static void constants_and_too_few_points(void **state)
{
	struct sample sample;
	struct kl_useful useful;
	struct kl_rng rng;

	kl_rng_seed(&rng, 1);
	draw(&sample, 8, &rng);
	memset(sample.gain, 0, sizeof(sample.gain));
	kl_useful_fit(&useful, &sample.data);
	assert_int_equal(useful.end, KL_USEFUL_NEVER);
	assert_false(kl_useful_holds(&useful, 5));
	memset(sample.gain, 1, sizeof(sample.gain));
	kl_useful_fit(&useful, &sample.data);
	assert_int_equal(useful.end, KL_USEFUL_ALWAYS);
	assert_true(kl_useful_holds(&useful, 5));
	sample.data.npoint = 7;
	kl_useful_fit(&useful, &sample.data);
	assert_int_equal(useful.end, KL_USEFUL_UNKNOWN);
	assert_contains(useful.why, "too few");
	sample.data.npoint = 0;
	kl_useful_fit(&useful, &sample.data);
	assert_int_equal(useful.end, KL_USEFUL_UNKNOWN);
}

/* A size in the middle is faster, those on both sides are not: one bound cannot say so. */
static void a_band_is_no_bound(void **state)
{
	int64_t value[24];
	bool gain[24];
	struct kl_useful useful;

	for (int i = 0; i < 24; i++) {
		value[i] = i + 1;
		gain[i] = i >= 9 && i < 15;
	}
	kl_useful_fit(&useful, &(struct kl_useful_data){ 24, 1, value, gain });
	assert_int_equal(useful.end, KL_USEFUL_UNKNOWN);
	assert_non_null(useful.why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_planted_bound_is_found),
		cmocka_unit_test(noise_gives_no_condition),
		cmocka_unit_test(a_bound_survives_a_few_wrong_points),
		cmocka_unit_test(constants_and_too_few_points),
		cmocka_unit_test(a_band_is_no_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
