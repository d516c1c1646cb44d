/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include "kl_oracle.h"

void oracle(int64_t M, int64_t N, int64_t K, const kl_real *A, const kl_real *B, kl_real *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			kl_real sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
}
