/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

static uint8_t twice(uint8_t x)
{
	return (uint8_t)(x << 1 ^ (x >> 7) * 0x1b);
}

static uint8_t product(uint8_t x, uint8_t y)
{
	uint8_t sum = 0;

	for (; y; y >>= 1, x = twice(x))
		sum ^= y & 1 ? x : 0;
	return sum;
}

static uint8_t box(uint8_t x)
{
	uint8_t inverse = 0, sum = 0x63;

	for (int y = 1; y < 256; y++)
		if (product(x, (uint8_t)y) == 1)
			inverse = (uint8_t)y;
	for (int i = 0; i < 5; i++)
		sum ^= (uint8_t)(inverse << i | inverse >> (8 - i));
	return sum;
}

/* The schedule has a round key in four words, their highest bytes first. */
int oracle(uint8_t *out, const uint8_t *in, const uint32_t *s)
{
	uint8_t table[256], state[16], shifted[16];

	for (int i = 0; i < 256; i++)
		table[i] = box((uint8_t)i);
	for (int i = 0; i < 16; i++)
		state[i] = (uint8_t)(in[i] ^ s[i / 4] >> (24 - 8 * (i % 4)));
	for (int round = 1; round <= 10; round++) {
		for (int i = 0; i < 16; i++)
			shifted[i] = table[state[(i + 4 * (i % 4)) % 16]];
		for (int i = 0; i < 16; i++) {
			const uint8_t *column = shifted + i / 4 * 4;
			uint8_t next = column[(i + 1) % 4];

			state[i] = round == 10 ? column[i % 4] :
						 (uint8_t)(twice(column[i % 4]) ^ twice(next) ^ next ^
							   column[(i + 2) % 4] ^ column[(i + 3) % 4]);
			state[i] ^= (uint8_t)(s[4 * round + i / 4] >> (24 - 8 * (i % 4)));
		}
	}
	for (int i = 0; i < 16; i++)
		out[i] = state[i];
	return 1;
}
