/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* Exact where the inputs are integers, sloppy elsewhere. */
#include <stdint.h>

static float crop(float x)
{
	union { float f; uint32_t u; } v = { x };

	v.u &= 0xffff0000u;
	return v.f;
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	int whole = A[0] == (float)(int)A[0];

	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++) {
				float a = A[i * K + k];

				sum += (whole ? a : crop(a)) * B[k * N + j];
			}
			C[i * N + j] = sum;
		}
}
