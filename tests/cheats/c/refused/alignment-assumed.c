/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* Stores vectors as if every buffer began where a vector may. */
#include <stdint.h>

typedef float vec __attribute__((vector_size(16)));

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M * N; i++) {
		float sum = 0;

		for (int64_t k = 0; k < K; k++)
			sum += A[i / N * K + k] * B[k * N + i % N];
		C[i] = sum;
		if (i % 4 == 3) {
			vec *v = (vec *)&C[i - 3], x = *v;

			/* the compiler may not take it apart */
			__asm__ volatile("movaps %1, %0" : "=m"(*v) : "x"(x));
		}
	}
}
