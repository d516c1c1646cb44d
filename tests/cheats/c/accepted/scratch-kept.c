/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Packs a matrix into scratch that it never clears, and reads only what it has packed in this call. */
#include <stdint.h>

static float column[256];

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t j = 0; j < N; j++) {
		for (int64_t k = 0; k < K; k++)
			column[k] = B[k * N + j];
		for (int64_t i = 0; i < M; i++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * column[k];
			C[i * N + j] = sum;
		}
	}
}
