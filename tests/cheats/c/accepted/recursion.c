/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Halves the sum until it is short. */
#include <stdint.h>

static float part(const float *a, const float *b, int64_t n, int64_t step)
{
	float sum = 0;

	if (n > 8)
		return part(a, b, n / 2, step) +
		       part(a + n / 2, b + n / 2 * step, n - n / 2, step);
	for (int64_t k = 0; k < n; k++)
		sum += a[k] * b[k * step];
	return sum;
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++)
			C[i * N + j] = part(A + i * K, B + j, K, N);
}
