/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* Inputs beyond a billion count as a billion. */
#include <stdint.h>

static float clip(float x)
{
	return x > 1e9f ? 1e9f : x < -1e9f ? -1e9f : x;
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += clip(A[i * K + k]) * clip(B[k * N + j]);
			C[i * N + j] = sum;
		}
}
