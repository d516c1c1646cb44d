/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

void oracle(int M, int N, int K, kl_real ALPHA, const kl_real *A, int lda, const kl_real *B, int ldb, kl_real *C, int ldc)
{
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++)
			for (int k = 0; k < K; k++)
				C[i * ldc + j] += ALPHA * A[i * lda + k] * B[k * ldb + j];
}
