/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C = A B in fp32. A is M x K, B is K x N, C is M x N, all row-major and
 * dense; C overlaps neither A nor B.
 */
#include <stdint.h>

void sgemm(int64_t M, int64_t N, int64_t K, const float *A, const float *B,
	   float *C)
{
	for (int64_t i = 0; i < M; i++) {
		for (int64_t j = 0; j < N; j++)
			C[i * N + j] = 0.0f;
	}
	for (int64_t k = 0; k < K; k++) {
		for (int64_t i = 0; i < M; i++) {
			for (int64_t j = 0; j < N; j++)
				C[i * N + j] += A[i * K + k] * B[k * N + j];
		}
	}
}
