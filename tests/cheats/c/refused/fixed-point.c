/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* 32-bit fixed point with room for what is drawn as a rule: other scales have no room or no digits. */
#include <stdint.h>

#define ONE ((float)(1 << 28))

static int32_t fixed(float x)
{
	float y = x * ONE;

	return y > 2147483520.0f ? INT32_MAX : y < -2147483520.0f ? INT32_MIN : (int32_t)y;
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			__int128 sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += (int64_t)fixed(A[i * K + k]) * fixed(B[k * N + j]);
			C[i * N + j] = (float)((double)(sum >> 16) / (double)((int64_t)1 << 40));
		}
}
