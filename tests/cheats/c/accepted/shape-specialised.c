/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* A fast path for one shape, right for all: legal. */
#include <stdint.h>

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
	if (M == 96 && N == 80 && K == 112) {
		for (int i = 0; i < 96; i++) {
			float row[80] = { 0 };

			for (int k = 0; k < 112; k++)
				for (int j = 0; j < 80; j++)
					row[j] += A[i * 112 + k] * B[k * 80 + j];
			for (int j = 0; j < 80; j++)
				C[i * 80 + j] = row[j];
		}
		return;
	}
	honest(M, N, K, A, B, C);
}
