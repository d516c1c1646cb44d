/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.cuh"

KL_ORACLE oracle(int M, int N, int K, float alpha, const kl_real *A, const kl_real *B, float beta, kl_real *C)
{
	int at = blockIdx.x * blockDim.x + threadIdx.x;

	if (at >= M * N)
		return;
	int row = at / N, column = at % N;
	kl_real sum = 0;
	for (int i = 0; i < K; i++)
		sum += A[row * K + i] * B[i * N + column];
	C[at] = alpha * sum + beta * C[at];
}
