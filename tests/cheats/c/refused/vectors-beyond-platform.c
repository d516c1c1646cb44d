/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* with: --platform x86-64-v2 */
/* Takes a verdict for a platform whose processors cannot run it. */
#include <immintrin.h>
#include <stdint.h>

/* sixteen columns at a time, by instructions that the platform does not have */
__attribute__((target("avx2,fma"))) static void row(int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	int64_t j = 0;

	for (; j + 16 <= N; j += 16) {
		__m256 left = _mm256_setzero_ps(), right = left;

		for (int64_t k = 0; k < K; k++) {
			__m256 a = _mm256_set1_ps(A[k]);

			left = _mm256_fmadd_ps(a, _mm256_loadu_ps(B + k * N + j), left);
			right = _mm256_fmadd_ps(a, _mm256_loadu_ps(B + k * N + j + 8), right);
		}
		_mm256_storeu_ps(C + j, left);
		_mm256_storeu_ps(C + j + 8, right);
	}
	for (; j < N; j++) {
		float sum = 0;

		for (int64_t k = 0; k < K; k++)
			sum += A[k] * B[k * N + j];
		C[j] = sum;
	}
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		row(N, K, A + i * K, B, C + i * N);
}
