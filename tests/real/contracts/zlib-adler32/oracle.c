/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

uint64_t oracle(uint64_t adler, const uint8_t *buf, uint64_t len)
{
	uint64_t low = adler & 0xffff, high = adler >> 16 & 0xffff;
	for (uint64_t i = 0; i < len; i++) {
		low = (low + buf[i]) % 65521;
		high = (high + low) % 65521;
	}
	return high << 16 | low;
}
