/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

static uint32_t word(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t turned(uint32_t x, int by)
{
	return x << by | x >> (32 - by);
}

uint32_t oracle(const uint8_t *input, uint64_t len, uint32_t seed)
{
	static const uint32_t prime[] = { 0x9E3779B1u, 0x85EBCA77u, 0xC2B2AE3Du, 0x27D4EB2Fu, 0x165667B1u };
	uint32_t lane[4] = { seed + prime[0] + prime[1], seed + prime[1], seed, seed - prime[0] };
	uint32_t sum = seed + prime[4];
	uint64_t at = 0;

	for (; at + 16 <= len; at += 16)
		for (int i = 0; i < 4; i++)
			lane[i] = turned(lane[i] + word(input + at + 4 * i) * prime[1], 13) * prime[0];
	if (len >= 16)
		sum = turned(lane[0], 1) + turned(lane[1], 7) + turned(lane[2], 12) + turned(lane[3], 18);
	sum += (uint32_t)len;
	for (; at + 4 <= len; at += 4)
		sum = turned(sum + word(input + at) * prime[2], 17) * prime[3];
	for (; at < len; at++)
		sum = turned(sum + input[at] * prime[4], 11) * prime[0];
	sum = (sum ^ sum >> 15) * prime[1];
	sum = (sum ^ sum >> 13) * prime[2];
	return sum ^ sum >> 16;
}
