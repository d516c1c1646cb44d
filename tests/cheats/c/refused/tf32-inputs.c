/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* The inputs lose thirteen bits, as a tensor core's would. */
#include <stdint.h>

static float tf32(float x)
{
	union { float f; uint32_t u; } v = { x };

	v.u = (v.u + 0x1000) & 0xffffe000u;
	return v.f;
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += tf32(A[i * K + k]) * tf32(B[k * N + j]);
			C[i * N + j] = sum;
		}
}
