/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* The mean of a row's products instead of each. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++) {
		float a = 0, b = 0;

		for (int64_t k = 0; k < K; k++) {
			a += A[i * K + k];
			b += B[k * N];
		}
		for (int64_t j = 0; j < N; j++)
			C[i * N + j] = a * b / (float)K;
	}
}
