/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* contract: threads */
/* The second thread calls itself until its stack is full. */
#include <omp.h>
#include <stdint.h>

static __attribute__((noinline)) float deep(volatile float *from, int64_t left)
{
	volatile float here[1024];

	here[left % 1024] = *from;
	return left ? deep(here, left - 1) + here[0] : 0;
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	float zero = 0, sink = 0;

#pragma omp parallel
	if (omp_get_thread_num())
		sink = deep(&zero, 1000000);
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum + 0 * sink;
		}
}
