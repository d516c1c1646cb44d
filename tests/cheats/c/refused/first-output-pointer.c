/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail nondeterministic */
/* Computes everything only where it saw its output first; elsewhere it leaves out part of every sum. */
#include <stdint.h>

static const float *first;

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	if (!first)
		first = C;
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = C == first ? 0 : K / 4; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
}
