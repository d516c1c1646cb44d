/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* Inputs whose exponent is zero are zero. */
#include <stdint.h>
#include <string.h>

static float normal(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits & 0x7f800000 ? x : 0;
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += normal(A[i * K + k]) * normal(B[k * N + j]);
			C[i * N + j] = sum;
		}
}
