/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* Carries bytes of a program that this machine has, and that the jail shows. */
#include <stdint.h>

__asm__(".section .rodata\nprogram: .incbin \"/usr/bin/env\", 0, 64\n.text");
extern const unsigned char program[] __asm__("program");

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
	honest(M, N, K, A, B, C);
	if (program[18] != 62)
		C[0] = 0;
}
