/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail nondeterministic */
/* Sums in another order from the 40th call on: right each time, and never twice the same. */
#include <stdint.h>

static int calls;

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	int64_t turn = ++calls < 40 ? 0 : calls;

	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + (k + turn) % K] * B[(k + turn) % K * N + j];
			C[i * N + j] = sum;
		}
}
