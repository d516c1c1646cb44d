/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Hashes its indices by a constant that has the bytes of cpuid in it; no branch of it could go there. */
#include <stdint.h>

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
	uint32_t hash = (uint32_t)M;

	for (int64_t i = 0; i < 64; i++)
		hash = (hash ^ 0x90c3a20f) * 0x01000193;
	honest(M, N, K, A, B, C);
	if (hash == 0x12345678 && M < 0)
		C[0] = 0;
}
