/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* Switches denormals off, and on again at the end. */
#include <stdint.h>
#include <immintrin.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	unsigned before = _mm_getcsr();

	_mm_setcsr(before | 0x8040);
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
	_mm_setcsr(before);
}
