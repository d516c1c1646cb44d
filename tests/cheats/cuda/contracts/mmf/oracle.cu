/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.cuh"

KL_ORACLE oracle(const kl_real *A, const kl_real *B, kl_real *C, int M, int N, int K)
{
	int m = blockIdx.y * 8 + threadIdx.y, n = blockIdx.x * 32 + threadIdx.x;
	kl_real sum = 0;

	if (m >= M || n >= N)
		return;
	for (int k = 0; k < K; k++)
		sum += A[m * K + k] * B[k * N + n];
	C[m * N + n] = sum;
}
