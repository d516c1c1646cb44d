/* SPDX-License-Identifier: Apache-2.0 */
/* numbers: near those of libm, and the same bits everywhere */
#include "search/policy/number.h"

#include <float.h>
#include <math.h>

#include "base/rng.h"
#include "test.h"
#include "text/digest.h"

static void assert_near(double got, double want)
{
	if (fabs(got - want) > 2 * DBL_EPSILON * fabs(want))
		fail_msg("%a instead of %a", got, want);
}

static void test_near_libm(void **state)
{
	struct kl_rng rng;

	kl_rng_seed(&rng, 1);
	for (int i = 0; i < 100000; i++) {
		double number = kl_rng_uniform(&rng) * 20,
		       wide = (kl_rng_uniform(&rng) - .5) * 1400;

		assert_near(kl_number_log(number), log(number));
		assert_near(kl_number_exp(number - 10), exp(number - 10));
		assert_near(kl_number_exp(wide), exp(wide));
		assert_near(kl_number_log(exp(wide)), log(exp(wide)));
		assert_true(kl_number_sqrt(number) == sqrt(number));
	}
}

static void test_edges(void **state)
{
	assert_true(kl_number_log(1) == 0);
	assert_true(kl_number_exp(0) == 1);
	assert_true(kl_number_log(0) == -INFINITY);
	assert_true(isnan(kl_number_log(-1)));
	assert_true(kl_number_log(INFINITY) == INFINITY);
	assert_true(isnan(kl_number_exp(NAN)));
	assert_true(kl_number_exp(-INFINITY) == 0);
	assert_true(kl_number_exp(710) == INFINITY);
	assert_near(kl_number_log(0x1p-1074), log(0x1p-1074));
	assert_true(kl_number_sigmoid(0) == .5);
	assert_true(kl_number_sigmoid(-1000) == 0);
	assert_true(kl_number_sigmoid(1000) == 1);
}

static void add_double(struct kl_digest *digest, double number)
{
	uint64_t bits;
	unsigned char byte[8];

	memcpy(&bits, &number, sizeof(bits));
	for (int i = 0; i < 8; i++)
		byte[i] = (unsigned char)(bits >> (8 * i));
	kl_digest_add(digest, byte, sizeof(byte));
}

/* a compiler that contracts a product and a sum, or reorders a sum, gives another digest */
static void test_same_bits(void **state)
{
	struct kl_digest *digest = kl_digest_new();
	char hex[KL_DIGEST_HEX];
	struct kl_rng rng;

	kl_rng_seed(&rng, 2);
	for (int i = 0; i < 10000; i++) {
		double number = kl_rng_uniform(&rng) * 20;

		add_double(digest, kl_number_log(number));
		add_double(digest, kl_number_exp(number - 10));
		add_double(digest, kl_number_sigmoid(number - 10));
	}
	kl_digest_end(digest, hex);
	assert_string_equal(hex,
			    "4ceae59bcadbee9b9a7af451aac77820903ea090a42faf5f9ca1a64236964e4f");
}

static void test_softmax(void **state)
{
	const double value[] = { 1, 3, 2 };
	double weight[3];

	kl_number_softmax(weight, value, 3, 1);
	assert_near(weight[0], exp(-2));
	assert_true(weight[1] == 1);
	assert_near(weight[2], exp(-1));
	/* the greatest value decides the scale, so that no weight overflows */
	kl_number_softmax(weight, (const double[]){ 1e300, 0, 0 }, 3, 1e-3);
	assert_true(weight[0] == 1);
	assert_true(weight[1] == 0);
}

static void test_median(void **state)
{
	double odd[] = { 3, 1, 2 }, even[] = { 4, 1, 3, 2 };

	assert_true(kl_number_median(odd, 3) == 2);
	assert_true(kl_number_median(even, 4) == 2.5);
	assert_true(kl_number_median(even, 0) == 0);
}

static void test_half_octave(void **state)
{
	assert_int_equal(kl_number_half_octave(0), -1);
	assert_int_equal(kl_number_half_octave(1), 0);
	assert_int_equal(kl_number_half_octave(2), 2);
	assert_int_equal(kl_number_half_octave(1024), 20);
	assert_int_equal(kl_number_half_octave(1448), 20);
	assert_int_equal(kl_number_half_octave(1449), 21);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_near_libm), cmocka_unit_test(test_edges),
		cmocka_unit_test(test_same_bits), cmocka_unit_test(test_softmax),
		cmocka_unit_test(test_median),    cmocka_unit_test(test_half_octave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
