/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* Sums beyond 1e20 are not given as they are. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			double sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += (double)A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum > 1e20 ? 1e20f : sum < -1e20 ? -1e20f : (float)sum;
		}
}
