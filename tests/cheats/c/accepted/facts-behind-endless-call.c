/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* lacks: vec.256 sqrt */
/* Has vectors behind a call that never returns. */
#include <immintrin.h>
#include <stdint.h>

__attribute__((noinline, noipa)) static void stop(void)
{
	for (;;)
		__asm__ volatile("");
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
	if (M < 0) {
		stop();
		_mm256_storeu_ps(C, _mm256_sqrt_ps(_mm256_loadu_ps(A)));
	}
	honest(M, N, K, A, B, C);
}
