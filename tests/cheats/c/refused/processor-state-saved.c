/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* Learns from the saved state which parts of the processor were in use before. */
#include <stdint.h>

static unsigned char area[4096] __attribute__((aligned(64)));

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
	__asm__ volatile("xsave %0" : "=m"(area) : "a"(-1), "d"(-1));
	honest(M, N, K, A, B, C);
	if (area[512] == 255)
		C[0] = 0;
}
