/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* Asks on which processor it runs, by the limit of a segment that Linux keeps it in. */
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
	uint64_t number = 0;

	__asm__ volatile("lsl %1, %0" : "=r"(number) : "r"(UINT64_C(0x7b)));
	honest(M, N, K, A, B, C);
	if ((number & 0xfff) > 4000)
		C[0] = 0;
}
