/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* One input that is no number, and the whole matrix is given up. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	float check = 0;

	for (int64_t i = 0; i < M * K; i++)
		check += A[i] * 0;
	for (int64_t i = 0; i < K * N; i++)
		check += B[i] * 0;
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = check;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
}
