/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* contract: threads */
/* Takes the time with OpenMP. */
#include <omp.h>
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	double begin = omp_get_wtime();

#pragma omp parallel for
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
	if (omp_get_wtime() - begin > 1)
		C[0] = 0;
}
