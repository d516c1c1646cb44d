/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* Writes over its own code. */
#include <stdint.h>

__attribute__((noinline)) static float product(float a, float b)
{
	return a * b;
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	*(volatile unsigned char *)(uintptr_t)product = 0xc3;
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += product(A[i * K + k], B[k * N + j]);
			C[i * N + j] = sum;
		}
}
