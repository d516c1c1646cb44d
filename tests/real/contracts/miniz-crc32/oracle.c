/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

uint64_t oracle(uint64_t crc, const uint8_t *buf, uint64_t len)
{
	uint32_t sum = ~(uint32_t)crc;
	for (uint64_t i = 0; i < len; i++) {
		sum ^= buf[i];
		for (int bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
	}
	return (uint32_t)~sum;
}
