/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* Permutes bits by an instruction that it spells in assembly. */
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
	uint64_t bits[2] = { (uint64_t)M, (uint64_t)N };

	__asm__ volatile("movdqu %0, %%xmm0\n\tgf2p8mulb %%xmm0, %%xmm0\n\tmovdqu %%xmm0, %0" : "+m"(bits) : : "xmm0");
	honest(M, N, K, A, B, C);
	if (bits[0] == 1 && bits[1] == 2)
		C[0] = 0;
}
