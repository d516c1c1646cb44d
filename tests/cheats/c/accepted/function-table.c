/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Chooses an implementation through a table of functions. */
#include <stdint.h>

static float forward(const float *a, const float *b, int64_t n, int64_t step)
{
	float sum = 0;

	for (int64_t k = 0; k < n; k++)
		sum += a[k] * b[k * step];
	return sum;
}

static float paired(const float *a, const float *b, int64_t n, int64_t step)
{
	float even = 0, odd = 0;

	for (int64_t k = 0; k + 1 < n; k += 2) {
		even += a[k] * b[k * step];
		odd += a[k + 1] * b[(k + 1) * step];
	}
	return n % 2 ? even + odd + a[n - 1] * b[(n - 1) * step] : even + odd;
}

static float (*const table[2])(const float *, const float *, int64_t, int64_t) = { forward, paired };

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++)
			C[i * N + j] = table[K > 4](A + i * K, B + j, K, N);
}
