/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* The compiler's own vectors, with a scalar tail. */
#include <stdint.h>

typedef float v8 __attribute__((vector_size(32), aligned(4)));

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++) {
		int64_t j = 0;

		for (; j + 8 <= N; j += 8) {
			v8 sum = { 0 };

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * *(const v8 *)(B + k * N + j);
			*(v8 *)(C + i * N + j) = sum;
		}
		for (; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
	}
}
