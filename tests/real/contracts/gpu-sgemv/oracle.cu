/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.cuh"

KL_ORACLE oracle(const kl_real *A, const kl_real *x, kl_real *y, int M, int N)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;

	if (row >= M)
		return;
	kl_real sum = 0;
	for (int i = 0; i < N; i++)
		sum += A[(size_t)row * N + i] * x[i];
	y[row] = sum;
}
