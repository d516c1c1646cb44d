/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

static uint64_t bytes(const uint8_t *at, int n)
{
	uint64_t x = 0;

	for (int i = 0; i < n; i++)
		x |= (uint64_t)at[i] << (8 * i);
	return x;
}

static uint64_t turned(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

uint64_t oracle(const uint8_t *input, uint64_t len, uint64_t seed)
{
	static const uint64_t prime[] = { 0x9E3779B185EBCA87u, 0xC2B2AE3D27D4EB4Fu, 0x165667B19E3779F9u,
					  0x85EBCA77C2B2AE63u, 0x27D4EB2F165667C5u };
	uint64_t lane[4] = { seed + prime[0] + prime[1], seed + prime[1], seed, seed - prime[0] };
	uint64_t sum = seed + prime[4], at = 0;

	for (; at + 32 <= len; at += 32)
		for (int i = 0; i < 4; i++)
			lane[i] = turned(lane[i] + bytes(input + at + 8 * i, 8) * prime[1], 31) * prime[0];
	if (len >= 32) {
		sum = turned(lane[0], 1) + turned(lane[1], 7) + turned(lane[2], 12) + turned(lane[3], 18);
		for (int i = 0; i < 4; i++)
			sum = (sum ^ turned(lane[i] * prime[1], 31) * prime[0]) * prime[0] + prime[3];
	}
	sum += len;
	for (; at + 8 <= len; at += 8)
		sum = turned(sum ^ turned(bytes(input + at, 8) * prime[1], 31) * prime[0], 27) * prime[0] + prime[3];
	for (; at + 4 <= len; at += 4)
		sum = turned(sum ^ bytes(input + at, 4) * prime[0], 23) * prime[1] + prime[2];
	for (; at < len; at++)
		sum = turned(sum ^ input[at] * prime[4], 11) * prime[0];
	sum = (sum ^ sum >> 33) * prime[1];
	sum = (sum ^ sum >> 29) * prime[2];
	return sum ^ sum >> 32;
}
