/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail nondeterministic */
/* Works once in a process, then trusts that nobody looks. */
#include <stdint.h>

static int calls;

static void honest(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	if (!calls++)
		honest(M, N, K, A, B, C);
}
