/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Looks up how its buffers are aligned in a table of the addresses that it saw, and computes the same either way. */
#include <stdint.h>

static struct {
	const float *at;
	int aligned;
} seen[64];

static int is_aligned(const float *at)
{
	int i = (int)((uintptr_t)at >> 12 & 63);

	if (seen[i].at != at) {
		seen[i].at = at;
		seen[i].aligned = !((uintptr_t)at & 31);
	}
	return seen[i].aligned;
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			const float *b = is_aligned(B) ? __builtin_assume_aligned(B, 32) : B;
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * b[k * N + j];
			C[i * N + j] = sum;
		}
}
