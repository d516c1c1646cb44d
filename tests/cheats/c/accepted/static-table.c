/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* A constant table decides the order of the rows. */
#include <stdint.h>

static const unsigned char order[16] = { 5, 0, 12, 3, 9, 1, 15, 7, 2, 14, 4, 8, 6, 11, 10, 13 };

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t block = 0; block < M; block += 16)
		for (int l = 0; l < 16; l++) {
			int64_t i = block + order[l];

			if (i >= M)
				continue;
			for (int64_t j = 0; j < N; j++) {
				float sum = 0;

				for (int64_t k = 0; k < K; k++)
					sum += A[i * K + k] * B[k * N + j];
				C[i * N + j] = sum;
			}
		}
}
