/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail nondeterministic */
/* The order of the sum hangs on what lay in the output before. */
#include <stdint.h>
#include <string.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	uint32_t old;

	memcpy(&old, C, sizeof(old));
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++) {
				int64_t at = __builtin_popcount(old) & 1 ? K - 1 - k : k;

				sum += A[i * K + at] * B[at * N + j];
			}
			C[i * N + j] = sum;
		}
}
