/* SPDX-License-Identifier: Apache-2.0 */
#include "search/policy/number.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * ln 2 as the sum of two parts. The first ends with 32 zero bits, so its products with exponents
 * are exact.
 */
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW 0x1.a39ef35793c76p-33
#define SQRT2 0x1.6a09e667f3bcdp+0
#define LOG_TERMS 12
#define EXP_TERMS 14

#define EXPONENT_BIAS 1023
#define MANTISSA_BITS 52

static const double infinity = __builtin_inf();

static uint64_t bits_of(double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

static double from_bits(uint64_t bits)
{
	double number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

static double power_of_two(int exponent)
{
	return from_bits((uint64_t)(exponent + EXPONENT_BIAS) << MANTISSA_BITS);
}

/* Split a positive number: return the mantissa, in [1/sqrt 2, sqrt 2), and set the exponent. */
static double split_number(double number, int *exponent)
{
	uint64_t bits;
	double mantissa;

	*exponent = 0;
	if (number < 0x1p-1022) { /* subnormal */
		number *= 0x1p54;
		*exponent = -54;
	}
	bits = bits_of(number);
	*exponent += (int)(bits >> MANTISSA_BITS) - EXPONENT_BIAS;
	bits = (bits & (((uint64_t)1 << MANTISSA_BITS) - 1)) |
	       ((uint64_t)EXPONENT_BIAS << MANTISSA_BITS);
	mantissa = from_bits(bits);
	if (mantissa >= SQRT2) {
		mantissa /= 2;
		(*exponent)++;
	}
	return mantissa;
}

double kl_number_log(double number)
{
	int exponent;
	double mantissa, ratio, square, sum = 0;

	if (number == 0)
		return -infinity;
	if (!(number > 0))
		return __builtin_nan("");
	if (number == infinity)
		return infinity;
	mantissa = split_number(number, &exponent);
	/* ln m = 2 atanh((m - 1) / (m + 1)) */
	ratio = (mantissa - 1) / (mantissa + 1);
	square = ratio * ratio;
	for (int i = LOG_TERMS; i > 0; i--)
		sum = (sum + 1.0 / (2 * i + 1)) * square;
	return exponent * LN2_HIGH + (2 * ratio + (2 * ratio * sum + exponent * LN2_LOW));
}

double kl_number_exp(double number)
{
	double rest, sum = 1;
	int power;

	if (number != number)
		return number;
	if (number < -708)
		return 0;
	if (number > 709)
		return infinity;
	power = (int)(number / (LN2_HIGH + LN2_LOW) + (number < 0 ? -0.5 : 0.5));
	rest = (number - power * LN2_HIGH) - power * LN2_LOW;
	for (int i = EXP_TERMS; i > 0; i--)
		sum = 1 + rest * sum / i;
	/* Multiply twice, because a double cannot hold 2^1024. */
	return sum * power_of_two(power / 2) * power_of_two(power - power / 2);
}

double kl_number_sqrt(double number)
{
	return __builtin_sqrt(number);
}

double kl_number_sigmoid(double number)
{
	return 1 / (1 + kl_number_exp(-number));
}

void kl_number_softmax(double *weight, const double *value, size_t n, double temperature)
{
	double most = -infinity;

	for (size_t i = 0; i < n; i++)
		if (value[i] > most)
			most = value[i];
	for (size_t i = 0; i < n; i++)
		weight[i] = kl_number_exp((value[i] - most) / temperature);
}

static int by_size(const void *left, const void *right)
{
	double one = *(const double *)left, two = *(const double *)right;

	return (one > two) - (one < two);
}

double kl_number_median(double *value, size_t n)
{
	if (!n)
		return 0;
	qsort(value, n, sizeof(*value), by_size);
	return n % 2 ? value[n / 2] : (value[n / 2 - 1] + value[n / 2]) / 2;
}

int kl_number_half_octave(long long count)
{
	double size = (double)count;
	int bin = 0;

	if (count < 1)
		return -1;
	for (; size >= 2; bin += 2)
		size /= 2;
	return bin + (size >= SQRT2);
}
