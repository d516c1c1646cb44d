/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Packs into scratch that is deeper than the shape, and clears what the shape does not fill. */
#include <stdint.h>

static float a[128 * 128], b[128 * 128];

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	int64_t deep = (K + 7) / 8 * 8;

	for (int64_t k = 0; k < deep; k++) {
		for (int64_t i = 0; i < M; i++)
			a[i * 128 + k] = k < K ? A[i * K + k] : 0;
		for (int64_t j = 0; j < N; j++)
			b[j * 128 + k] = k < K ? B[k * N + j] : 0;
	}
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < deep; k++)
				sum += a[i * 128 + k] * b[j * 128 + k];
			C[i * N + j] = sum;
		}
}
