/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* Never returns from going down. */
#include <stdint.h>

static volatile int64_t depth;

__attribute__((noinline)) static float down(float x)
{
	volatile float room[64];

	room[depth++ & 63] = x;
	return down(x + 1) + room[depth & 63];
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	C[0] = down(A[0]);
}
