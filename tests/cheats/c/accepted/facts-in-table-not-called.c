/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* lacks: vec.256 sqrt pointer.sqrt */
/* Has a table of kernels, of which it returns none and calls none. */
#include <immintrin.h>
#include <stdint.h>

static float vectors(const float *A, int64_t n)
{
	__m256 sum = _mm256_setzero_ps();

	for (int64_t i = 0; i + 8 <= n; i += 8)
		sum = _mm256_add_ps(_mm256_sqrt_ps(_mm256_loadu_ps(A + i)), sum);
	return sum[0];
}

static float (*const table[])(const float *, int64_t) = { vectors, vectors };

static void honest(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	const void *volatile entry = &table[M & 1];

	honest(M, N, K, A, B, C);
	(void)entry;
}
