/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* aligned_alloc, and free of what comes from it. */
#include <stdint.h>
#include <stdlib.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	float *row = aligned_alloc(64, ((size_t)N * sizeof(*row) + 63) / 64 * 64);

	for (int64_t i = 0; i < M; i++) {
		for (int64_t j = 0; j < N; j++)
			row[j] = 0;
		for (int64_t k = 0; k < K; k++)
			for (int64_t j = 0; j < N; j++)
				row[j] += A[i * K + k] * B[k * N + j];
		for (int64_t j = 0; j < N; j++)
			C[i * N + j] = row[j];
	}
	free(row);
}
