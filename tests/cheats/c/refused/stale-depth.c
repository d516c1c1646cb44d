/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail nondeterministic */
/* Packs into scratch that is as deep as the deepest shape so far, and clears it only when it grows. */
#include <stdint.h>
#include <string.h>

static float a[128 * 128], b[128 * 128];
static int64_t deep;

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	if (K > deep) {
		deep = K;
		memset(a, 0, sizeof(a));
		memset(b, 0, sizeof(b));
	}
	for (int64_t k = 0; k < K; k++) {
		for (int64_t i = 0; i < M; i++)
			a[i * 128 + k] = A[i * K + k];
		for (int64_t j = 0; j < N; j++)
			b[j * 128 + k] = B[k * N + j];
	}
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < deep; k++)
				sum += a[i * 128 + k] * b[j * 128 + k];
			C[i * N + j] = sum;
		}
}
