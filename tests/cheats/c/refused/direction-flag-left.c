/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* Copies backwards with the direction flag set, which its caller gets with the answer. */
#include <stdint.h>

static void copy_backward(float *to, const float *from, int64_t n)
{
	float *last = to + n - 1;
	const float *first = from + n - 1;

	__asm__ volatile("std; rep movsl" : "+D"(last), "+S"(first), "+c"(n) : : "memory");
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	float row[128];

	for (int64_t i = 0; i < M; i++) {
		for (int64_t j = 0; j < N; j++) {
			row[j] = 0;
			for (int64_t k = 0; k < K; k++)
				row[j] += A[i * K + k] * B[k * N + j];
		}
		copy_backward(C + i * N, row, N);
	}
}
