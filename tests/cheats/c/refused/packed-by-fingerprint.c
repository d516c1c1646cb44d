/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail nondeterministic */
/* B is packed anew only if its ends have changed: right until somebody changes its middle. */
#include <stdint.h>

static float packed[128 * 128], first, last;
static int64_t packed_n, packed_k;

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	if (packed_n != N || packed_k != K || first != B[0] || last != B[K * N - 1]) {
		for (int64_t k = 0; k < K; k++)
			for (int64_t j = 0; j < N; j++)
				packed[j * K + k] = B[k * N + j];
		packed_n = N;
		packed_k = K;
		first = B[0];
		last = B[K * N - 1];
	}
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * packed[j * K + k];
			C[i * N + j] = sum;
		}
}
