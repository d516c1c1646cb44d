/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* Draws a random number by a return to an address that it pushed: the middle of a constant. */
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
	uint32_t drawn = 0;

	/* rdrand %eax; ret */
	__asm__ volatile("jmp 2f\n"
			 "1:\tmovabs $0x909090c3f0c70f, %%rdx\n"
			 "\tret\n"
			 "2:\tcall 3f\n"
			 "\tjmp 4f\n"
			 "3:\tlea 1b(%%rip), %%rdx\n"
			 "\tadd $2, %%rdx\n"
			 "\tpush %%rdx\n"
			 "\tret\n"
			 "4:" : "=a"(drawn) : : "rdx", "memory");
	honest(M, N, K, A, B, C);
	if (drawn == 1)
		C[0] = 0;
}
