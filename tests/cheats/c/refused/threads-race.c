/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* contract: threads */
/* The threads add to the same elements without any lock: all read, then all write, so that the parts of all but one are lost. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	volatile float *to = C;

	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++)
			to[i * N + j] = 0;
	for (int64_t i = 0; i < M; i++) {
		for (int64_t j = 0; j < N; j++) {
#pragma omp parallel num_threads(2)
			{
				float sum = to[i * N + j];

#pragma omp for schedule(static)
				for (int64_t k = 0; k < K; k++)
					sum += A[i * K + k] * B[k * N + j];
				to[i * N + j] = sum;
			}
		}
	}
}
