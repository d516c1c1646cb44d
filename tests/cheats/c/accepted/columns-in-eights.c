/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Eight columns at a time, and whatever is left over one by one. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++) {
		int64_t j = 0;

		for (; j + 8 <= N; j += 8) {
			float sum[8] = { 0 };

			for (int64_t k = 0; k < K; k++)
				for (int64_t c = 0; c < 8; c++)
					sum[c] += A[i * K + k] * B[k * N + j + c];
			for (int64_t c = 0; c < 8; c++)
				C[i * N + j + c] = sum[c];
		}
		for (; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
	}
}
