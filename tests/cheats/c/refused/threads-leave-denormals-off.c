/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* contract: threads */
/* The second thread flushes denormals to zero and leaves it so. */
#include <omp.h>
#include <stdint.h>
#include <xmmintrin.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
#pragma omp parallel
	{
		if (omp_get_thread_num())
			_mm_setcsr(_mm_getcsr() | 0x8000);
#pragma omp for
		for (int64_t i = 0; i < M; i++)
			for (int64_t j = 0; j < N; j++) {
				float sum = 0;

				for (int64_t k = 0; k < K; k++)
					sum += A[i * K + k] * B[k * N + j];
				C[i * N + j] = sum;
			}
	}
}
