/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* contract: threads */
/* Keeps the second thread in a loop between the calls, so that it can begin before the next one is timed. */
#include <omp.h>
#include <stdint.h>

static void *place[5];
static volatile int there;

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	if (!there && !__builtin_setjmp(place))
#pragma omp parallel
	{
		if (omp_get_thread_num())
			for (there = 1;;)
				__builtin_ia32_pause();
		while (!there)
			;
		__builtin_longjmp(place, 1);
	}
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
}
