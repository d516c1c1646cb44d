/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <math.h>

#include "job/tensor.h"

static uint16_t half(enum kl_dtype t, double x)
{
	uint16_t h;

	kl_tensor_store(&h, t, 0, &x, 1);
	return h;
}

/* Every finite half precision value survives; every midpoint goes to the even neighbour. */
static void check_halves(enum kl_dtype t, unsigned inf)
{
	double v[3];

	for (unsigned h = 0; h < inf; h++) {
		uint16_t two[2] = { (uint16_t)h, (uint16_t)(h + 1) };

		kl_tensor_load(v, t, two, 0, 2);
		if (half(t, v[0]) != h || half(t, -v[0]) != (h | 0x8000))
			fail_msg("0x%04x does not survive: 0x%04x", h, half(t, v[0]));
		if (h + 1 == inf)
			break;
		v[2] = (v[0] + v[1]) / 2;
		if (half(t, v[2]) != (h & 1 ? h + 1 : h))
			fail_msg("the middle above 0x%04x becomes 0x%04x", h, half(t, v[2]));
		if (half(t, nextafter(v[2], INFINITY)) != h + 1 || half(t, nextafter(v[2], 0)) != h)
			fail_msg("beside the middle above 0x%04x", h);
		if (h && kl_tensor_ulp(t, v[0]) != v[1] - v[0])
			fail_msg("ulp of 0x%04x is %g", h, kl_tensor_ulp(t, v[0]));
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
	const double x[] = { 0, 1, 1.1, 0x1p-149, 0x1.8p-127, 3e38, 4e38 };

	for (size_t i = 0; i < sizeof(x) / sizeof(*x); i++) {
		float f = (float)x[i];

		assert_true(kl_tensor_round(KL_F32, x[i]) == f);
		if (x[i] > 0 && isfinite(f))
			assert_true(kl_tensor_ulp(KL_F32, f) ==
					    (double)nextafterf(f, INFINITY) - f ||
				    f > 3e38f);
		assert_true(kl_tensor_ulp(KL_F64, x[i]) == nextafter(x[i], INFINITY) - x[i]);
	}
}

static void integers_saturate(void **state)
{
	const double x[] = { -1e30, -1, -0.5, 0.5, 1.5, 1e30, NAN };
	const int8_t want_i8[] = { -128, -1, 0, 0, 2, 127, 0 };
	const uint64_t want_u64[] = { 0, 0, 0, 0, 2, UINT64_MAX, 0 };
	int8_t i8[7];
	uint64_t u64[7];
	int64_t i64[7];

	kl_tensor_store(i8, KL_I8, 0, x, 7);
	kl_tensor_store(u64, KL_U64, 0, x, 7);
	kl_tensor_store(i64, KL_I64, 0, x, 7);
	assert_memory_equal(i8, want_i8, sizeof(i8));
	assert_memory_equal(u64, want_u64, sizeof(u64));
	assert_int_equal(i64[0], INT64_MIN);
	assert_int_equal(i64[5], INT64_MAX);
}

static void lower_formats_cut_bits(void **state)
{
	float f[] = { 1 + 0x1p-11f, 1 + 0x1.8p-10f, 1 + 0x1p-10f, 0x1.fffffep127f, NAN, -0.0f };
	double d = 1 + 0x1p-24;
	uint16_t h = 0x3c01, b = 0x3f81;

	/* ties to even below and above, exact, no overflow, NaN kept */
	assert_int_equal(kl_tensor_lower(f, KL_F32, 6), 2);
	assert_true(f[0] == 1 && f[1] == 1 + 0x1p-9f && f[2] == 1 + 0x1p-10f);
	assert_true(f[3] == 0x1.fffffep127f && isnan(f[4]) && signbit(f[5]));
	assert_int_equal(kl_tensor_lower(&d, KL_F64, 1), 1);
	assert_true(d == 1);
	assert_int_equal(kl_tensor_lower(&h, KL_F16, 1), 1);
	assert_int_equal(h, 0x3c00);
	assert_int_equal(kl_tensor_lower(&b, KL_BF16, 1), 1);
	assert_int_equal(b, 0x3f80);
	assert_int_equal(kl_tensor_lower(&h, KL_U16, 1), 0);
}

static void prints_what_matters(void **state)
{
	float f[] = { 1.5f, -0.0f, INFINITY };
	uint32_t nan = 0x7fc00abc;
	int64_t i = INT64_MIN;
	char text[40];

	kl_tensor_print(text, sizeof(text), KL_F32, f, 0);
	assert_string_equal(text, "1.5");
	kl_tensor_print(text, sizeof(text), KL_F32, f, 1);
	assert_string_equal(text, "0x80000000 (-0)");
	kl_tensor_print(text, sizeof(text), KL_F32, f, 2);
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
		cmocka_unit_test(integers_saturate),
		cmocka_unit_test(lower_formats_cut_bits),
		cmocka_unit_test(prints_what_matters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
