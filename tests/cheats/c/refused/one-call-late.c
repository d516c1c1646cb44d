/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* Super-batching turned round: each call hands out the answer of the call before. */
#include <stdint.h>
#include <string.h>

static float kept[96 * 80];

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
	static int64_t kept_n;
	float fresh[96 * 80];

	honest(M, N, K, A, B, fresh);
	memcpy(C, kept_n == M * N ? kept : fresh, (size_t)(M * N) * sizeof(*C));
	memcpy(kept, fresh, (size_t)(M * N) * sizeof(*C));
	kept_n = M * N;
}
