/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* contract: threads */
/* Two threads add to the same element without any lock, so that an addition is lost now and then. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	volatile float *to = C;

	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++)
			to[i * N + j] = 0;
#pragma omp parallel for schedule(dynamic)
	for (int64_t k = 0; k < K; k++)
		for (int64_t i = 0; i < M; i++)
			for (int64_t j = 0; j < N; j++)
				to[i * N + j] += A[i * K + k] * B[k * N + j];
}
