/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Reads whole vectors, at the end of B too, wherever that cannot leave the page; what lies behind is not used. */
#include <stdint.h>
#include <immintrin.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j += 4) {
			int64_t n = N - j < 4 ? N - j : 4;
			__m128 sum = _mm_setzero_ps();
			float out[4];

			for (int64_t k = 0; k < K; k++) {
				const float *b = &B[k * N + j];
				float own[4] = { 0 };

				if (n < 4 && ((uintptr_t)b & 4095) > 4096 - 16) {
					for (int64_t l = 0; l < n; l++)
						own[l] = b[l];
					b = own;
				}
				sum = _mm_add_ps(sum, _mm_mul_ps(_mm_set1_ps(A[i * K + k]), _mm_loadu_ps(b)));
			}
			_mm_storeu_ps(out, sum);
			for (int64_t l = 0; l < n; l++)
				C[i * N + j + l] = out[l];
		}
}
