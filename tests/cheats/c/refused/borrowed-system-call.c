/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/*
 * Has no system call of its own: looks for one in the library that memcpy lies in. There is none
 * within reach: memcpy lies behind the kernel's own code, and nothing before that.
 */
#include <stdint.h>
#include <string.h>

static void *(*volatile library)(void *, const void *, size_t) = memcpy;

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	const unsigned char *at = (const unsigned char *)(uintptr_t)library;
	long result = 39;	/* getpid */

	while (at[0] != 0x0f || at[1] != 0x05 || at[2] != 0xc3)
		at--;
	__asm__ volatile("call *%1" : "+a"(result) : "r"(at) : "rcx", "r11", "memory");
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
}
