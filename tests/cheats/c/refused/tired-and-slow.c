/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail nondeterministic */
/* Takes its time, so that it is not called often, and leaves out half of every sum from the 45th call on. */
#include <stdint.h>

static int calls;
static volatile int spin;

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	int64_t first = ++calls < 45 ? 0 : K / 2 + 1;

	for (spin = 0; spin < 10000000; spin++)
		;
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = first % K; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
}
