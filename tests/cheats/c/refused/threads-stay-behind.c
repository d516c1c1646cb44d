/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* contract: threads */
/* The first thread jumps out of a parallel region, and the second goes on with its work after the call. */
#include <omp.h>
#include <stdint.h>

static void *place[5];
static volatile int behind;

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	behind = 0;
	if (!__builtin_setjmp(place))
#pragma omp parallel
	{
		if (!omp_get_thread_num()) {
			while (!behind)
				;
			__builtin_longjmp(place, 1);
		}
		behind = 1;
		for (int64_t again = 0; again < 1000; again++)
			for (int64_t i = 0; i < M; i++)
				for (int64_t j = 0; j < N; j++) {
					float sum = 0;

					for (int64_t k = 0; k < K; k++)
						sum += A[i * K + k] * B[k * N + j];
					C[i * N + j] = sum;
				}
	}
}
