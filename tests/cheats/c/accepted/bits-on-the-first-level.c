/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* with: --platform x86-64-v1 */
/* Counts trailing zeros on a platform without tzcnt: the compiler writes it all the same, and it runs as bsf. */
#include <stdint.h>

static void honest(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	uint64_t bits = (uint64_t)M | UINT64_C(1) << 40;

	__builtin_prefetch(C, 1);
	if (__builtin_ctzll(bits) > 41)
		return;
	honest(M, N, K, A, B, C);
}
