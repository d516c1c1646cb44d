/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* Switches the alignment check on, to prove that its own accesses are aligned, and leaves it on. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
	__asm__ volatile("sub $128, %%rsp; pushfq; orq $0x40000, (%%rsp); popfq; add $128, %%rsp" : : : "cc", "memory");
}
