/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* Two harmless bytes, and a relocation that makes a system call of them when the object is linked. */
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
	long r = 39; /* getpid */

	__asm__ volatile("1:\tnop\n\tnop\n\t.reloc 1b, R_X86_64_PC16, 1b + 0x050f"
			 : "+a"(r) : : "rcx", "r11", "memory");
	honest(M, N, K, A, B, C);
}
