/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* A row on the stack, as long as it needs to be. */
#include <stdint.h>
#include <string.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	float row[N];

	for (int64_t i = 0; i < M; i++) {
		memset(row, 0, sizeof(row));
		for (int64_t k = 0; k < K; k++)
			for (int64_t j = 0; j < N; j++)
				row[j] += A[i * K + k] * B[k * N + j];
		memcpy(C + i * N, row, sizeof(row));
	}
}
