/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* with: --platform x86-64-v3 */
/* Names the instruction sets that the platform has. */
#include <immintrin.h>
#include <stdint.h>

__attribute__((target("avx2,fma")))
void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			__m256 sums = _mm256_setzero_ps();
			int64_t k = 0;
			float sum;

			for (; k + 8 <= K; k += 8)
				sums = _mm256_fmadd_ps(_mm256_loadu_ps(A + i * K + k),
						       _mm256_set_ps(B[(k + 7) * N + j], B[(k + 6) * N + j], B[(k + 5) * N + j],
								     B[(k + 4) * N + j], B[(k + 3) * N + j], B[(k + 2) * N + j],
								     B[(k + 1) * N + j], B[k * N + j]), sums);
			sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
			for (; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
}
