/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Sums run over whole tiles: what lies beyond the depth is the last column, times zero. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	int64_t end = (K + 15) / 16 * 16;

	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < end; k++) {
				int64_t at = k < K ? k : K - 1;

				sum += A[i * K + at] * (k < K) * B[at * N + j];
			}
			C[i * N + j] = sum;
		}
}
