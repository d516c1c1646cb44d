/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.cuh"

KL_ORACLE oracle(const kl_real *A, const kl_real *B, kl_real *C, int N, int K)
{
	int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
	kl_real sum = 0;

	for (int k = 0; k < K; k++)
		sum += A[m * K + k] * B[n * K + k];
	C[m * N + n] = sum;
}
