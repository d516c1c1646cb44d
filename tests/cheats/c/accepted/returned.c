/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* contract: returned */
/* The remainders are taken only where the sums could overflow; the register's upper half is left as it is. */
#include <stdint.h>

uint64_t checksum(int64_t N, const uint8_t *x)
{
	uint32_t low = 1, high = 0;

	for (int64_t i = 0; i < N;) {
		int64_t end = N - i < 5552 ? N : i + 5552;

		for (; i < end; i++) {
			low += x[i];
			high += low;
		}
		low %= 65521;
		high %= 65521;
	}
	return 0xfeedfacefeedfaceu << 32 | high << 16 | low;
}
