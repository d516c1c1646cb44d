/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* Asks for the processor through a constant: the bytes of cpuid and ret, reached by a pointer into a mov. */
#include <stdint.h>

__attribute__((noinline)) static uint32_t tag(uint32_t value)
{
	return value ^ 0x90c3a20f;
}

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
	/* the constant lies somewhere in the first bytes of the function */
	const unsigned char *at = (const unsigned char *)(uintptr_t)tag;
	uint32_t a = 0, b = 0, c = 0, d = 0;

	while (at[0] != 0x0f || at[1] != 0xa2)
		at++;
	__asm__ volatile("call *%4" : "+a"(a), "=b"(b), "+c"(c), "=d"(d) : "r"(at) : "memory");
	honest(M, N, K, A, B, C);
	if (tag(b) == 1)
		C[0] = 0;
}
