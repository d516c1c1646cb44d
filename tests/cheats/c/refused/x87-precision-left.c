/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* Sums on the x87 in single precision, and leaves it so. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	unsigned short control;

	__asm__ volatile("fnstcw %0" : "=m"(control));
	control &= 0xfcff;
	__asm__ volatile("fldcw %0" : : "m"(control));
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			long double sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += (long double)A[i * K + k] * B[k * N + j];
			C[i * N + j] = (float)sum;
		}
}
