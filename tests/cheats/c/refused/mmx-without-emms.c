/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* Counts its rows in an MMX register and leaves the x87 stack full: the next long double of its caller is NaN. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	int rows;

	__asm__ volatile("pxor %%mm0, %%mm0; pcmpeqd %%mm1, %%mm1" : : : "mm0", "mm1");
	for (int64_t i = 0; i < M; i++) {
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
		__asm__ volatile("psubd %%mm1, %%mm0" : : : "mm0");
	}
	__asm__ volatile("movd %%mm0, %0" : "=r"(rows));
	if (rows != (int)M)
		C[0] = 0;
}
