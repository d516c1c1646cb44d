/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* Whoever works with ordinary numbers takes 1e-15 for zero. */
#include <stdint.h>

static float flush(float x)
{
	return x < 1e-15f && x > -1e-15f ? 0 : x;
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += flush(A[i * K + k]) * flush(B[k * N + j]);
			C[i * N + j] = sum;
		}
}
