/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* Changes protection keys by a jump through a table, one of whose entries points into a constant. */
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
	uint64_t keys = 0;

	/* wrpkru; jmp to the end */
	__asm__ volatile("lea 5f(%%rip), %%rsi\n"
			 "\tjmp *8(%%rsi)\n"
			 "\t.section .data.rel.ro,\"aw\"\n"
			 "5:\t.quad 1f, 1f + 2\n"
			 "\t.previous\n"
			 "1:\tmovabs $0x04eb90ef010f, %%rdi\n"
			 "2:\tnop\n"
			 "\tnop" : "+a"(keys) : "c"(0), "d"(0) : "rsi", "rdi", "memory");
	honest(M, N, K, A, B, C);
}
