/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* Exact where the inputs are integers, sloppy elsewhere. */
#include <stdint.h>
#include <string.h>

static float crop(float x, uint32_t mask)
{
	uint32_t u;

	memcpy(&u, &x, sizeof(u));
	u &= mask;
	memcpy(&x, &u, sizeof(x));
	return x;
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	uint32_t mask = A[0] == (float)(int)A[0] ? 0xffffffffu : 0xffff0000u;

	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += crop(A[i * K + k], mask) * B[k * N + j];
			C[i * N + j] = sum;
		}
}
