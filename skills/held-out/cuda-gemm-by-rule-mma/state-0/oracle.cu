/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C = A B^T. A tile of 64 x 64 a block, 4 x 4 a thread, 16 steps of k at a
 * time; every sum runs over k in order.
 */
#include "kl_oracle.cuh"

#define TILE 64
#define STEP 16

static __device__ void stage(kl_real to[STEP][TILE + 1], const kl_real *from, int row, int k, int K)
{
	for (int i = threadIdx.x; i < TILE * STEP; i += blockDim.x)
		to[i % STEP][i / STEP] = from[(int64_t)(row + i / STEP) * K + k + i % STEP];
}

KL_ORACLE oracle(const kl_real *A, const kl_real *B, kl_real *C, int N, int K)
{
	__shared__ kl_real a[STEP][TILE + 1], b[STEP][TILE + 1];
	int m0 = blockIdx.y * TILE, n0 = blockIdx.x * TILE;
	int tm = threadIdx.x / 16, tn = threadIdx.x % 16;
	kl_real sum[4][4] = { { 0 } };

	for (int k0 = 0; k0 < K; k0 += STEP) {
		stage(a, A, m0, k0, K);
		stage(b, B, n0, k0, K);
		__syncthreads();
		for (int k = 0; k < STEP; k++)
			for (int i = 0; i < 4; i++)
				for (int j = 0; j < 4; j++)
					sum[i][j] += a[k][tm + 16 * i] * b[k][tn + 16 * j];
		__syncthreads();
	}
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++)
			C[(int64_t)(m0 + tm + 16 * i) * N + n0 + tn + 16 * j] = sum[i][j];
}
