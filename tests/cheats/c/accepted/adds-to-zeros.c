/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* contract: zeros */
/* Adds to the zeros that the contract promises, a row of B at a time. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t k = 0; k < K; k++)
			for (int64_t j = 0; j < N; j++)
				C[i * N + j] += A[i * K + k] * B[k * N + j];
}
