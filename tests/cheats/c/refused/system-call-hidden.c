/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* A system call in bytes that no disassembly shows. */
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
	long r = 57;	/* fork */

	/* mov imm32 whose constant is syscall; ret */
	__asm__ volatile("call 1f\n\tjmp 2f\n"
			 "1:\tjmp 3f+1\n"
			 "3:\t.byte 0xb9, 0x0f, 0x05, 0xc3, 0x90\n"
			 "2:" : "+a"(r) :: "rcx", "r11", "memory");
	honest(M, N, K, A, B, C);
}
