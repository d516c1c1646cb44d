/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* lacks: vec.256 avx2.fma broadcast pointer.vec.256 */
/* Stores the address of a vector kernel that it never calls: none of its facts are the kernel's. */
#include <immintrin.h>
#include <stdint.h>

typedef void kernel(int64_t, int64_t, int64_t, const float *, const float *, float *);
kernel *volatile spare;

__attribute__((target("avx2,fma"))) static void vectors(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j + 8 <= N; j += 8) {
			__m256 sum = _mm256_setzero_ps();

			for (int64_t k = 0; k < K; k++)
				sum = _mm256_fmadd_ps(_mm256_set1_ps(A[i * K + k]), _mm256_loadu_ps(B + k * N + j), sum);
			_mm256_storeu_ps(C + i * N + j, sum);
		}
}

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
	spare = vectors;
	honest(M, N, K, A, B, C);
}
