/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block a chunk and head: M, then the columns of A = (I + M)^-1 by forward
 * substitution, one thread a column, sums in order.
 */
#include "kl_oracle.cuh"

#define C 64

KL_ORACLE oracle(const kl_real *k, const kl_real *beta, kl_real *A, int Hk, int H, int D)
{
	__shared__ kl_real M[C][C + 1];
	int64_t t0 = (int64_t)blockIdx.x * C;
	int h = blockIdx.y, hk = h / (H / Hk), j = threadIdx.x;
	kl_real a[C];

	for (int i = 0; i < C; i++) {
		const kl_real *ki = k + ((t0 + i) * Hk + hk) * D;
		const kl_real *kj = k + ((t0 + j) * Hk + hk) * D;
		kl_real sum = 0;

		for (int d = 0; d < D; d++)
			sum += ki[d] * kj[d];
		M[i][j] = i > j ? beta[(t0 + i) * H + h] * sum : 0;
	}
	__syncthreads();
	for (int i = 0; i < C; i++) {
		kl_real sum = 0;

		for (int m = j; m < i; m++)
			sum += M[i][m] * a[m];
		a[i] = i < j ? 0 : i == j ? 1 : -sum;
		A[((t0 + i) * H + h) * C + j] = a[i];
	}
}
