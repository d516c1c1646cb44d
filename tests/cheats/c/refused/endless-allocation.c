/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* Allocates until there is nothing left, then uses what it did not get. */
#include <stdint.h>
#include <stdlib.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	volatile char *p;

	do
		p = malloc(1 << 20);
	while (p);
	*p = 1;
}
