/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value's rank is the number of those above it, and of its equals in earlier
 * columns; those of rank below k are the answer, each at its rank. -0 lies
 * below +0; there is no NaN.
 */
#include "kl_oracle.cuh"

static __device__ bool above(kl_real a, kl_real b)
{
	return a > b || (a == b && !signbit(a) && signbit(b));
}

KL_ORACLE oracle(const kl_real *x, kl_real *values, int32_t *indices, int cols, int k)
{
	__shared__ kl_real part[256];
	const kl_real *row = x + (int64_t)blockIdx.y * cols;
	int me = blockIdx.x * 256 + threadIdx.x, rank = 0;
	kl_real mine = me < cols ? row[me] : 0;

	for (int from = 0; from < cols; from += 256) {
		if (from + (int)threadIdx.x < cols)
			part[threadIdx.x] = row[from + threadIdx.x];
		__syncthreads();
		for (int i = 0; i < 256 && from + i < cols; i++)
			rank += above(part[i], mine) ||
				(from + i < me && !above(mine, part[i]));
		__syncthreads();
	}
	if (me >= cols || rank >= k)
		return;
	values[(int64_t)blockIdx.y * k + rank] = mine;
	indices[(int64_t)blockIdx.y * k + rank] = me;
}
