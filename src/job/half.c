/* SPDX-License-Identifier: Apache-2.0 */
#include "job/half.h"

#include <math.h>
#include <string.h>

/*
 * The functions that convert one element have no branch and no library call, so that the compiler
 * can vectorize loops over them. The Makefile compiles this file with options for that.
 */
#define ELEMENT static inline __attribute__((always_inline))

/*
 * A 16-bit format: the smallest normal value; 1.5 * 2^52 times the ulp at 1; the largest finite
 * value. To round a value to whole ulps, ties to even, add 1.5 * 2^52 ulps as a double and subtract
 * them again: a double of that size has no bits below one ulp.
 */
struct format {
	double least, magic, max;
};

static const struct format formats[] = {
	[KL_F16] = { 0x1p-14, 0x1.8p42, 65504.0 },
	[KL_BF16] = { 0x1p-126, 0x1.8p45, 0x1.fep+127 },
};

ELEMENT uint64_t bits_of_double(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

ELEMENT double double_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

ELEMENT uint32_t bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

ELEMENT float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Return the power of two at or below |value|; 0 for subnormals; infinity for infinity and NaN. */
ELEMENT double binade_of(double value)
{
	return double_of(bits_of_double(value) & 0x7ff0000000000000u);
}

ELEMENT double round_element(const struct format *format, double value)
{
	double binade = binade_of(value), least, magic, rounded;

	least = binade < format->least ? format->least : binade;
	magic = least * format->magic;
	rounded = copysign(value + magic - magic, value);
	/* `magic` of a very large value is infinite, and `rounded` is NaN */
	rounded = fabs(rounded) <= format->max ? rounded : copysign(INFINITY, value);
	return binade < INFINITY ? rounded : value;
}

ELEMENT double load_f16(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
	uint32_t rest = (uint32_t)(half & 0x7fffu) << 13;
	/* rebias the exponent by a multiplication, which handles subnormals too */
	uint32_t finite = bits_of_float(float_of(rest) * 0x1p112f);
	uint32_t odd = 0x7f800000u | rest;

	return float_of(sign | (rest >= 0x0f800000u ? odd : finite));
}

ELEMENT double load_bf16(uint16_t half)
{
	return float_of((uint32_t)half << 16);
}

ELEMENT uint16_t store_f16(double value)
{
	uint32_t bits = bits_of_float((float)round_element(&formats[KL_F16], value));
	uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu, finite;

	finite = bits_of_float(float_of(rest) * 0x1p-112f) >> 13;
	finite = rest < 0x7f800000u ? finite : 0x7c00u;
	return (uint16_t)(sign | (rest > 0x7f800000u ? 0x7e00u : finite));
}

ELEMENT uint16_t store_bf16(double value)
{
	uint32_t bits = bits_of_float((float)round_element(&formats[KL_BF16], value));
	uint32_t nan = (bits & 0x80000000u) | 0x7fc00000u;

	return (uint16_t)(((bits & 0x7fffffffu) > 0x7f800000u ? nan : bits) >> 16);
}

/* --- arrays ------------------------------------------------------------------------- */

struct array_functions {
	void (*load[2])(double *to, const uint16_t *from, size_t n);
	void (*store[2])(uint16_t *to, const double *from, size_t n);
	void (*round)(double *values, const struct format *format, size_t n);
};

#define DEFINE_LOOP(name, element, to_type, from_type, attribute)                \
	attribute static void name(to_type *to, const from_type *from, size_t n) \
	{                                                                        \
		for (size_t i = 0; i < n; i++)                                   \
			to[i] = element(from[i]);                                \
	}

/* Define the loops for one set of vector instructions, and a table of these loops. */
#define DEFINE_ARRAYS(set, attribute)                                                          \
	DEFINE_LOOP(load_f16_##set, load_f16, double, uint16_t, attribute)                     \
	DEFINE_LOOP(load_bf16_##set, load_bf16, double, uint16_t, attribute)                   \
	DEFINE_LOOP(store_f16_##set, store_f16, uint16_t, double, attribute)                   \
	DEFINE_LOOP(store_bf16_##set, store_bf16, uint16_t, double, attribute)                 \
	attribute static void round_##set(double *values, const struct format *from, size_t n) \
	{                                                                                      \
		const struct format format = *from;                                            \
                                                                                               \
		for (size_t i = 0; i < n; i++)                                                 \
			values[i] = round_element(&format, values[i]);                         \
	}                                                                                      \
	static const struct array_functions arrays_##set = {                                   \
		{ load_f16_##set, load_bf16_##set },                                           \
		{ store_f16_##set, store_bf16_##set },                                         \
		round_##set,                                                                   \
	};

DEFINE_ARRAYS(plain, )

#ifdef __x86_64__
DEFINE_ARRAYS(avx2, __attribute__((target("avx2"))))
DEFINE_ARRAYS(avx512, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))))

static const struct array_functions *choose_arrays(void)
{
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512vl"))
		return &arrays_avx512;
	return __builtin_cpu_supports("avx2") ? &arrays_avx2 : &arrays_plain;
}
#else
static const struct array_functions *choose_arrays(void)
{
	return &arrays_plain;
}
#endif

void kl_half_load(double *to, enum kl_dtype dtype, const uint16_t *from, size_t n)
{
	choose_arrays()->load[dtype == KL_BF16](to, from, n);
}

void kl_half_store(uint16_t *to, enum kl_dtype dtype, const double *from, size_t n)
{
	choose_arrays()->store[dtype == KL_BF16](to, from, n);
}

void kl_half_round(enum kl_dtype dtype, double *values, size_t n)
{
	choose_arrays()->round(values, &formats[dtype], n);
}

double kl_half_rounded(enum kl_dtype dtype, double value)
{
	return round_element(&formats[dtype], value);
}
