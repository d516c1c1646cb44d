/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.cuh"

KL_ORACLE oracle(const kl_real *A, const kl_real *B, kl_real *C, size_t N, size_t K)
{
	size_t column = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (column >= N)
		return;
	kl_real sum = 0;
	for (size_t i = 0; i < K; i++)
		sum += A[i] * B[column * K + i];
	C[column] = sum;
}
