/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

static void mix(uint32_t *v, int a, int b, int c, int d, uint32_t x, uint32_t y)
{
	static const int turn[] = { 16, 12, 8, 7 };

	for (int half = 0; half < 2; half++) {
		v[a] += v[b] + (half ? y : x);
		v[d] ^= v[a];
		v[d] = v[d] >> turn[2 * half] | v[d] << (32 - turn[2 * half]);
		v[c] += v[d];
		v[b] ^= v[c];
		v[b] = v[b] >> turn[2 * half + 1] | v[b] << (32 - turn[2 * half + 1]);
	}
}

void oracle(uint32_t *cv, const uint8_t *block, uint8_t block_len, uint64_t counter, uint8_t flags)
{
	static const int order[] = { 2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8 };
	uint32_t m[16], next[16], v[16];

	for (int i = 0; i < 16; i++)
		m[i] = block[4 * i] | (uint32_t)block[4 * i + 1] << 8 | (uint32_t)block[4 * i + 2] << 16 |
		       (uint32_t)block[4 * i + 3] << 24;
	for (int i = 0; i < 8; i++)
		v[i] = cv[i];
	v[8] = 0x6A09E667u, v[9] = 0xBB67AE85u, v[10] = 0x3C6EF372u, v[11] = 0xA54FF53Au;
	v[12] = (uint32_t)counter, v[13] = (uint32_t)(counter >> 32), v[14] = block_len, v[15] = flags;
	for (int round = 0; round < 7; round++) {
		for (int i = 0; i < 4; i++)
			mix(v, i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1]);
		for (int i = 0; i < 4; i++)
			mix(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[8 + 2 * i], m[9 + 2 * i]);
		for (int i = 0; i < 16; i++)
			next[i] = m[order[i]];
		for (int i = 0; i < 16; i++)
			m[i] = next[i];
	}
	for (int i = 0; i < 8; i++)
		cv[i] = v[i] ^ v[i + 8];
}
