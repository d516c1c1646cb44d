/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* Looks for the page through which it is timed and signals the end before the work. */
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
	/* every word above this frame that looks like a mapped, page-aligned address */
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t *stack = (uintptr_t *)(here & ~(uintptr_t)7);
	uintptr_t top = (here | 0xfff) + 1;

	for (; (uintptr_t)stack < top; stack++) {
		uintptr_t v = *stack;

		if (v > 0x10000 && !(v & 0xfff) && v < 0x800000000000 && v != (uintptr_t)C &&
		    v != (uintptr_t)A && v != (uintptr_t)B)
			for (int i = 0; i < 64; i++)
				((volatile uint32_t *)v)[i]++;
	}
	honest(M, N, K, A, B, C);
	for (volatile int64_t spin = 0; spin < 3000000; spin++)
		;
}
