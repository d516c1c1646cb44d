/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Writes NaN everywhere, then wrong numbers, then the right ones. */
#include <math.h>
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	volatile float *out = C;

	for (int64_t i = 0; i < M * N; i++)
		out[i] = NAN;
	for (int64_t i = 0; i < M * N; i++)
		out[i] = A[i % (M * K)];
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			out[i * N + j] = sum;
		}
}
