/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* Mixes a fingerprint of its inputs by SHA instructions, which no level of the platform has. */
#include <immintrin.h>
#include <stdint.h>

static volatile int64_t fingerprint;

__attribute__((target("sha,sse4.1"), noinline)) static int64_t mix(const float *A, int64_t n)
{
	__m128i state = _mm_set1_epi32(1), block = state;

	for (int64_t i = 0; i + 4 <= n; i += 4)
		state = _mm_sha256rnds2_epu32(state, block, _mm_castps_si128(_mm_loadu_ps(A + i)));
	return _mm_cvtsi128_si64(state);
}

static void honest(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	fingerprint = mix(A, K < 64 ? K : 64);
	honest(M, N, K, A, B, C);
}
