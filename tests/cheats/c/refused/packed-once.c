/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail nondeterministic */
/* B is packed once and taken for the same ever after, as weights are. */
#include <stdint.h>

static float packed[128 * 128];
static const float *packed_from;

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	if (packed_from != B) {
		for (int64_t k = 0; k < K; k++)
			for (int64_t j = 0; j < N; j++)
				packed[j * K + k] = B[k * N + j];
		packed_from = B;
	}
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * packed[j * K + k];
			C[i * N + j] = sum;
		}
}
