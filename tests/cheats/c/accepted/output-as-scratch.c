/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Accumulates in the output after clearing it. */
#include <stdint.h>
#include <string.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	memset(C, 0, (size_t)(M * N) * sizeof(*C));
	for (int64_t k = 0; k < K; k++)
		for (int64_t i = 0; i < M; i++)
			for (int64_t j = 0; j < N; j++)
				C[i * N + j] += A[i * K + k] * B[k * N + j];
}
