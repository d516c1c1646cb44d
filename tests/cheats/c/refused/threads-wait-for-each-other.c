/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail hang */
/* contract: threads */
/* One of two threads waits at a barrier that the other never reaches. */
#include <omp.h>
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
#pragma omp parallel
	{
		if (omp_get_thread_num())
			goto out;
		for (int64_t i = 0; i < M; i++)
			for (int64_t j = 0; j < N; j++) {
				float sum = 0;

				for (int64_t k = 0; k < K; k++)
					sum += A[i * K + k] * B[k * N + j];
				C[i * N + j] = sum;
			}
#pragma omp barrier
	out:;
	}
}
