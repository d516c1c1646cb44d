/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* contract: zeros */
/* Counts on zeros in memory of its own, which the contract promises for the output only. */
#include <stdint.h>
#include <stdlib.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	float *sum = malloc((size_t)(M * N) * sizeof(*sum));

	for (int64_t i = 0; sum && i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			for (int64_t k = 0; k < K; k++)
				sum[i * N + j] += A[i * K + k] * B[k * N + j];
			C[i * N + j] += sum[i * N + j];
		}
	free(sum);
}
