/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* lacks: vec.512 */
/* Has a function for wider registers, which nothing uses and the linker drops. */
#include <stdint.h>

__attribute__((target("avx512f"))) void wide(float *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		x[i] *= 3;
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
	honest(M, N, K, A, B, C);
}
