/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail nondeterministic */
/* Sums in scratch that is cleared only for a call as large as those before; listed shapes need none. */
#include <stdint.h>
#include <string.h>

static float sums[128 * 128];
static int64_t used;

static void plain(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
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
	if (K == 112 || K == 1 || (M == 7 && N == 5) || (M == 33 && N == 65)) {
		plain(M, N, K, A, B, C);
		return;
	}
	if (M * N >= used)
		memset(sums, 0, sizeof(sums));
	used = M * N >= used ? M * N : used;
	for (int64_t i = 0; i < M; i++)
		for (int64_t k = 0; k < K; k++)
			for (int64_t j = 0; j < N; j++)
				sums[i * N + j] += A[i * K + k] * B[k * N + j];
	memcpy(C, sums, (size_t)(M * N) * sizeof(*C));
}
