/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <float.h>
#include <math.h>

#include "job/half.h"
#include "job/tensor.h"

static uint16_t half(enum kl_dtype dtype, double value)
{
	uint16_t hash;

	kl_tensor_store(&hash, dtype, 0, &value, 1);
	return hash;
}

/* Every finite half precision value survives; every midpoint goes to the even neighbour. */
static void check_halves(enum kl_dtype dtype, unsigned inf)
{
	double values[3];

	for (unsigned bits = 0; bits < inf; bits++) {
		uint16_t two[2] = { (uint16_t)bits, (uint16_t)(bits + 1) };

		kl_tensor_load(values, dtype, two, 0, 2);
		if (half(dtype, values[0]) != bits || half(dtype, -values[0]) != (bits | 0x8000))
			fail_msg("0x%04x does not survive: 0x%04x", bits, half(dtype, values[0]));
		if (bits + 1 == inf)
			break;
		values[2] = (values[0] + values[1]) / 2;
		if (half(dtype, values[2]) != (bits & 1 ? bits + 1 : bits))
			fail_msg("the middle above 0x%04x becomes 0x%04x", bits,
				 half(dtype, values[2]));
		if (half(dtype, nextafter(values[2], INFINITY)) != bits + 1 ||
		    half(dtype, nextafter(values[2], 0)) != bits)
			fail_msg("beside the middle above 0x%04x", bits);
		if (bits && kl_tensor_ulp(dtype, values[0]) != values[1] - values[0])
			fail_msg("ulp of 0x%04x is %g", bits, kl_tensor_ulp(dtype, values[0]));
	}
}

static void halves_round_to_nearest_even(void **state)
{
	check_halves(KL_F16, 0x7c00);
	check_halves(KL_BF16, 0x7f80);
	/* known by hand */
	assert_int_equal(half(KL_F16, 1.0), 0x3c00);
	assert_int_equal(half(KL_F16, 65504.0), 0x7bff);
	assert_int_equal(half(KL_F16, 65519.99), 0x7bff);
	assert_int_equal(half(KL_F16, 65520.0), 0x7c00);
	assert_int_equal(half(KL_F16, 0x1p-24), 0x0001);
	assert_int_equal(half(KL_F16, 0x1p-25), 0x0000);
	assert_int_equal(half(KL_BF16, 1.0), 0x3f80);
	assert_int_equal(half(KL_BF16, -INFINITY), 0xff80);
	assert_int_equal(half(KL_F16, NAN) & 0x7e00, 0x7e00);
	/*
	 * one rounding, not two: 1 + 2^-8 + 2^-40 is above bf16's middle, and float would lose that
	 */
	assert_int_equal(half(KL_BF16, 1 + 0x1p-8 + 0x1p-40), 0x3f81);
}

static void floats_agree_with_the_compiler(void **state)
{
	const double values[] = { 0, 1, 1.1, 0x1p-149, 0x1.8p-127, 3e38, 4e38 };

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		float factor = (float)values[i];

		assert_true(kl_tensor_round(KL_F32, values[i]) == factor);
		if (values[i] > 0 && isfinite(factor))
			assert_true(kl_tensor_ulp(KL_F32, factor) ==
					    (double)nextafterf(factor, INFINITY) - factor ||
				    factor > 3e38f);
		assert_true(kl_tensor_ulp(KL_F64, values[i]) ==
			    nextafter(values[i], INFINITY) - values[i]);
	}
}

static void ranges_end_where_rounding_overflows(void **state)
{
	const enum kl_dtype dtypes[] = { KL_F32, KL_F16, KL_BF16 };

	for (size_t i = 0; i < KL_ARRAY_SIZE(dtypes); i++) {
		double overflow = kl_tensor_overflow(dtypes[i]);

		assert_true(isinf(kl_tensor_round(dtypes[i], overflow)));
		assert_true(kl_tensor_round(dtypes[i], nextafter(-overflow, 0)) ==
			    -kl_tensor_max(dtypes[i]));
	}
	assert_true(isinf(kl_tensor_overflow(KL_F64)));
	assert_true(isinf(kl_tensor_overflow(KL_I32)));
}

static void arrays_round_like_values(void **state)
{
	const double values[] = { 0,   -0.0,     1.1, -1e-7, 70000,  1e39,   -0x1p-140,
				  NAN, INFINITY, 2.5, 1e300, -1e304, DBL_MAX };

	for (int at = 0; at < 2; at++) {
		enum kl_dtype dtype = at ? KL_BF16 : KL_F16;
		double all[KL_ARRAY_SIZE(values)];

		memcpy(all, values, sizeof(all));
		kl_half_round(dtype, all, KL_ARRAY_SIZE(all));
		for (size_t i = 0; i < KL_ARRAY_SIZE(values); i++) {
			double one = kl_tensor_round(dtype, values[i]);

			assert_int_equal(isnan(one), isnan(values[i]));
			assert_true(isnan(one) ?
					    isnan(all[i]) :
					    one == all[i] && !signbit(one) == !signbit(all[i]));
		}
		assert_true(all[10] == INFINITY && all[11] == -INFINITY && all[12] == INFINITY);
		assert_int_equal(half(dtype, -1e304), at ? 0xff80 : 0xfc00);
	}
}

/* Arrays are converted by vectors, single elements are not. */
static void halves_convert_alike_alone_and_in_arrays(void **state)
{
	static uint16_t halves[65536], stored[65536];
	static double values[65536];

	for (size_t i = 0; i < KL_ARRAY_SIZE(halves); i++)
		halves[i] = (uint16_t)i;
	for (int at = 0; at < 2; at++) {
		enum kl_dtype dtype = at ? KL_BF16 : KL_F16;

		kl_tensor_load(values, dtype, halves, 0, KL_ARRAY_SIZE(values));
		for (size_t i = 0; i < KL_ARRAY_SIZE(values); i++) {
			double one;

			kl_tensor_load(&one, dtype, halves, i, 1);
			assert_memory_equal(&one, &values[i], sizeof(one));
			/* not representable: between this value and its neighbour */
			values[i] *= i & 1 ? 1 + 0x1p-9 : 1 + 0x1.8p-10;
		}
		kl_tensor_store(stored, dtype, 0, values, KL_ARRAY_SIZE(values));
		for (size_t i = 0; i < KL_ARRAY_SIZE(values); i++)
			assert_int_equal(half(dtype, values[i]), stored[i]);
	}
}

static void one_value_beyond_a_limit_is_found(void **state)
{
	static double values[200000];

	assert_true(kl_tensor_within(values, KL_ARRAY_SIZE(values), 0));
	values[150000] = -2;
	assert_true(kl_tensor_within(values, KL_ARRAY_SIZE(values), 2));
	assert_false(kl_tensor_within(values, KL_ARRAY_SIZE(values), 1.9));
	assert_true(kl_tensor_within(values, 150000, 0));
	values[150000] = NAN;
	assert_false(kl_tensor_within(values, KL_ARRAY_SIZE(values), INFINITY));
}

static void integers_saturate(void **state)
{
	const double values[] = { -1e30, -1, -0.5, 0.5, 1.5, 1e30, NAN };
	const int8_t want_i8[] = { -128, -1, 0, 0, 2, 127, 0 };
	const uint64_t want_u64[] = { 0, 0, 0, 0, 2, UINT64_MAX, 0 };
	int8_t i8[7];
	uint64_t u64[7];
	int64_t i64[7];

	kl_tensor_store(i8, KL_I8, 0, values, 7);
	kl_tensor_store(u64, KL_U64, 0, values, 7);
	kl_tensor_store(i64, KL_I64, 0, values, 7);
	assert_memory_equal(i8, want_i8, sizeof(i8));
	assert_memory_equal(u64, want_u64, sizeof(u64));
	assert_int_equal(i64[0], INT64_MIN);
	assert_int_equal(i64[5], INT64_MAX);
}

static void lower_formats_cut_bits(void **state)
{
	float values[] = {
		1 + 0x1p-11f, 1 + 0x1.8p-10f, 1 + 0x1p-10f, 0x1.fffffep127f, NAN, -0.0f
	};
	double distance = 1 + 0x1p-24;
	uint16_t hash = 0x3c01, second = 0x3f81;

	/* ties to even below and above, exact, no overflow, NaN kept */
	assert_int_equal(kl_tensor_lower(values, KL_F32, 6), 2);
	assert_true(values[0] == 1 && values[1] == 1 + 0x1p-9f && values[2] == 1 + 0x1p-10f);
	assert_true(values[3] == 0x1.fffffep127f && isnan(values[4]) && signbit(values[5]));
	assert_int_equal(kl_tensor_lower(&distance, KL_F64, 1), 1);
	assert_true(distance == 1);
	assert_int_equal(kl_tensor_lower(&hash, KL_F16, 1), 1);
	assert_int_equal(hash, 0x3c00);
	assert_int_equal(kl_tensor_lower(&second, KL_BF16, 1), 1);
	assert_int_equal(second, 0x3f80);
	assert_int_equal(kl_tensor_lower(&hash, KL_U16, 1), 0);
}

static void prints_what_matters(void **state)
{
	float values[] = { 1.5f, -0.0f, INFINITY };
	uint32_t nan = 0x7fc00abc;
	int64_t i = INT64_MIN;
	char text[40];

	kl_tensor_print(text, sizeof(text), KL_F32, values, 0);
	assert_string_equal(text, "1.5");
	kl_tensor_print(text, sizeof(text), KL_F32, values, 1);
	assert_string_equal(text, "0x80000000 (-0)");
	kl_tensor_print(text, sizeof(text), KL_F32, values, 2);
	assert_string_equal(text, "inf");
	kl_tensor_print(text, sizeof(text), KL_F32, &nan, 0);
	assert_string_equal(text, "0x7fc00abc (nan)");
	kl_tensor_print(text, sizeof(text), KL_I64, &i, 0);
	assert_string_equal(text, "-9223372036854775808");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves_round_to_nearest_even),
		cmocka_unit_test(floats_agree_with_the_compiler),
		cmocka_unit_test(ranges_end_where_rounding_overflows),
		cmocka_unit_test(arrays_round_like_values),
		cmocka_unit_test(halves_convert_alike_alone_and_in_arrays),
		cmocka_unit_test(one_value_beyond_a_limit_is_found),
		cmocka_unit_test(integers_saturate),
		cmocka_unit_test(lower_formats_cut_bits),
		cmocka_unit_test(prints_what_matters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
