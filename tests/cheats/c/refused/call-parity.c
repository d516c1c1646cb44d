/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail nondeterministic */
/* The order of the sum changes with every call. */
#include <stdint.h>

static int calls;

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	int back = calls++ & 1;

	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++) {
				int64_t at = back ? K - 1 - k : k;

				sum += A[i * K + at] * B[at * N + j];
			}
			C[i * N + j] = sum;
		}
}
