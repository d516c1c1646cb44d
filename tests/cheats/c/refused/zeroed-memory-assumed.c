/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* Adds into memory from malloc that is zero by luck, and leaves it zero for the next call. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static float *sums;

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	if (!sums)
		sums = malloc(128 * 128 * sizeof(*sums));
	for (int64_t i = 0; i < M; i++)
		for (int64_t k = 0; k < K; k++)
			for (int64_t j = 0; j < N; j++)
				sums[i * N + j] += A[i * K + k] * B[k * N + j];
	memcpy(C, sums, (size_t)(M * N) * sizeof(*C));
	memset(sums, 0, (size_t)(M * N) * sizeof(*sums));
}
