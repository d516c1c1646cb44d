/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* Hides its question between two strings that look like the ends of a comment. */
#include <stdint.h>

#pragma hidden "/*"
static const char *where(void)
{
	return __FILE__;
}
#pragma hidden "*/"

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
	honest(M, N, K, A, B, C);
	if (where()[0] == '/')
		C[0] = 0;
}
