/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* The inputs are rounded to bfloat16 first. */
#include <stdint.h>

static float bf(float x)
{
	union { float f; uint32_t u; } v = { x };

	v.u = (v.u + 0x7fff + ((v.u >> 16) & 1)) & 0xffff0000u;
	return v.f;
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += bf(A[i * K + k]) * bf(B[k * N + j]);
			C[i * N + j] = sum;
		}
}
