/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* Uses 512-bit registers behind a pragma, for a platform with 256. */
#pragma GCC target("avx512f,avx512vl,prefer-vector-width=512")
#include <stdint.h>

typedef float wide __attribute__((vector_size(64), aligned(4)));

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++) {
		int64_t j = 0;

		for (; j + 16 <= N; j += 16) {
			wide sum = { 0 };

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * *(const wide *)(B + k * N + j);
			*(wide *)(C + i * N + j) = sum;
		}
		for (; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
	}
}
