/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

static void mix(uint32_t *x, int a, int b, int c, int d)
{
	static const int turn[] = { 16, 12, 8, 7 };

	for (int half = 0; half < 2; half++) {
		x[a] += x[b];
		x[d] ^= x[a];
		x[d] = x[d] << turn[2 * half] | x[d] >> (32 - turn[2 * half]);
		x[c] += x[d];
		x[b] ^= x[c];
		x[b] = x[b] << turn[2 * half + 1] | x[b] >> (32 - turn[2 * half + 1]);
	}
}

static uint32_t word(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

int oracle(uint8_t *out, const uint8_t *in, const uint8_t *k, const uint8_t *c)
{
	uint32_t x[16];

	for (int i = 0; i < 16; i++)
		x[i] = i < 4 ? word(c + 4 * i) : i < 12 ? word(k + 4 * (i - 4)) : word(in + 4 * (i - 12));
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 4; i++)
			mix(x, i, 4 + i, 8 + i, 12 + i);
		for (int i = 0; i < 4; i++)
			mix(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
	}
	for (int i = 0; i < 32; i++)
		out[i] = (uint8_t)(x[i / 4 + (i < 16 ? 0 : 8)] >> (8 * (i % 4)));
	return 0;
}
