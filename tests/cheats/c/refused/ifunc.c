/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* Code that the loader runs to choose an implementation. */
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

typedef void fn(int64_t, int64_t, int64_t, const float *, const float *, float *);

static fn *choose(void)
{
	return honest;
}

void inner(int64_t, int64_t, int64_t, const float *, const float *, float *)
	__attribute__((ifunc("choose")));

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	inner(M, N, K, A, B, C);
}
