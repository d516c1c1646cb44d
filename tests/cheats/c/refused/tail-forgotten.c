/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-edge */
/* Only whole groups of eight columns are computed: right at 80 columns. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j + 8 <= N; j += 8)
			for (int64_t l = 0; l < 8; l++) {
				float sum = 0;

				for (int64_t k = 0; k < K; k++)
					sum += A[i * K + k] * B[k * N + j + l];
				C[i * N + j + l] = sum;
			}
}
