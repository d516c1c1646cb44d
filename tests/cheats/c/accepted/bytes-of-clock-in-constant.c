/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Calls through a pointer, beside a constant that has the bytes of rdtsc in it: the seal would stop it. */
#include <stdint.h>

static float add(float a, float b)
{
	return a + b;
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	float (*volatile fold)(float, float) = add;
	volatile uint32_t tag = 0x90c3310f;

	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum = fold(sum, A[i * K + k] * B[k * N + j]);
			C[i * N + j] = tag == 1 ? 0 : sum;
		}
}
