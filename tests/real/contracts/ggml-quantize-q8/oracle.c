/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

/* Blocks of 32: the scale, in half precision, and 32 signed bytes. Each step rounds to float. */
static uint32_t half(float value)
{
	union {
		float f;
		uint32_t bits;
	} as = { .f = value };
	int exponent = (int)(as.bits >> 23 & 255) - 112;
	uint32_t digits = (as.bits & 0x7fffff) | 0x800000, shift, rest, result;

	if (exponent < -10)
		return 0;
	shift = exponent < 1 ? 14 - exponent : 13;
	result = digits >> shift;
	rest = digits & ((1u << shift) - 1);
	result += rest > 1u << (shift - 1) || (rest == 1u << (shift - 1) && result & 1);
	return exponent < 1 ? result : result + ((uint32_t)(exponent - 1) << 10);
}

void oracle(const kl_real *x, uint8_t *y, int64_t k)
{
	for (int64_t i = 0; i < k / 32; i++) {
		const kl_real *from = x + 32 * i;
		uint8_t *to = y + 34 * i;
		float most = 0;

		for (int j = 0; j < 32; j++)
			most = kl_fabs(from[j]) > most ? (float)kl_fabs(from[j]) : most;
		float scale = most / 127, inverse = scale ? 1 / scale : 0;
		to[0] = (uint8_t)half(scale);
		to[1] = (uint8_t)(half(scale) >> 8);
		for (int j = 0; j < 32; j++) {
			float scaled = (float)from[j] * inverse;
			to[2 + j] = (uint8_t)(int8_t)(scaled < 0 ? -kl_floor(0.5 - (double)scaled) : kl_floor(0.5 + (double)scaled));
		}
	}
}
