/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* contract: threads */
/* Rows in chunks of every schedule, upwards and downwards, with signed and unsigned counters. */
#include <stdint.h>

static void row(int64_t i, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t j = 0; j < N; j++) {
		float sum = 0;

		for (int64_t k = 0; k < K; k++)
			sum += A[i * K + k] * B[k * N + j];
		C[i * N + j] = sum;
	}
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	int64_t q = M / 6;

#pragma omp parallel
	{
#pragma omp for schedule(dynamic) nowait
		for (int64_t i = 0; i < q; i++)
			row(i, N, K, A, B, C);
#pragma omp for schedule(guided, 2) nowait
		for (int64_t i = 2 * q - 1; i >= q; i--)
			row(i, N, K, A, B, C);
#pragma omp for schedule(static, 3) nowait
		for (int64_t i = 2 * q; i < 3 * q; i += 1)
			row(i, N, K, A, B, C);
#pragma omp for schedule(monotonic: dynamic, 2) nowait
		for (uint64_t i = (uint64_t)(3 * q); i < (uint64_t)(4 * q); i++)
			row((int64_t)i, N, K, A, B, C);
#pragma omp for schedule(runtime)
		for (int64_t i = 4 * q; i < 5 * q; i++)
			row(i, N, K, A, B, C);
	}
#pragma omp parallel for schedule(dynamic, 4)
	for (int64_t i = 5 * q; i < M; i++)
		row(i, N, K, A, B, C);
}
