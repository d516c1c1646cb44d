/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block has 64 queries of a head and goes over the keys 64 at a time, with
 * the largest logit so far, the sum of weights and the weighted sum of v;
 * each is rescaled when a larger logit comes.
 */
#include "kl_oracle.cuh"

#define TILE 64
#define D 128

struct tile {
	kl_real q[TILE][D + 1], kv[TILE][D + 1], p[TILE][TILE + 1];
	kl_real top[TILE], sum[TILE], shrink[TILE];
};

static __device__ void stage(kl_real to[TILE][D + 1], const kl_real *from, int H)
{
	for (int i = threadIdx.x; i < TILE * D; i += blockDim.x)
		to[i / D][i % D] = from[(int64_t)(i / D) * H * D + i % D];
}

/* p = q k^T / sqrt(D) */
static __device__ void logits(struct tile *t)
{
	int r = threadIdx.x / 16, c = threadIdx.x % 16;
	kl_real s[4][4] = { { 0 } };

	for (int d = 0; d < D; d++)
		for (int i = 0; i < 4; i++)
			for (int j = 0; j < 4; j++)
				s[i][j] += t->q[r + 16 * i][d] * t->kv[c + 16 * j][d];
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++)
			t->p[r + 16 * i][c + 16 * j] = s[i][j] / kl_sqrt((kl_real)D);
}

/* p = exp(p - top), one thread a row */
static __device__ void weights(struct tile *t, int row)
{
	kl_real top = t->top[row], sum = 0;

	for (int c = 0; c < TILE; c++)
		top = t->p[row][c] > top ? t->p[row][c] : top;
	t->shrink[row] = kl_exp(t->top[row] - top);
	for (int c = 0; c < TILE; c++)
		sum += t->p[row][c] = kl_exp(t->p[row][c] - top);
	t->sum[row] = t->sum[row] * t->shrink[row] + sum;
	t->top[row] = top;
}

KL_ORACLE oracle(const kl_real *q, const kl_real *k, const kl_real *v, kl_real *o, int S, int H)
{
	extern __shared__ struct tile room[];
	struct tile *t = room;
	int64_t head = ((int64_t)blockIdx.z * S * H + blockIdx.y) * D;
	int64_t mine = head + (int64_t)blockIdx.x * TILE * H * D;
	int r = threadIdx.x / 16, c = threadIdx.x % 16;
	kl_real acc[4][8] = { { 0 } };

	stage(t->q, q + mine, H);
	if (threadIdx.x < TILE) {
		t->top[threadIdx.x] = -INFINITY;
		t->sum[threadIdx.x] = 0;
	}
	for (int from = 0; from < S; from += TILE) {
		stage(t->kv, k + head + (int64_t)from * H * D, H);
		__syncthreads();
		logits(t);
		__syncthreads();
		if (threadIdx.x < TILE)
			weights(t, threadIdx.x);
		stage(t->kv, v + head + (int64_t)from * H * D, H);
		__syncthreads();
		for (int i = 0; i < 4; i++)
			for (int j = 0; j < 8; j++)
				acc[i][j] *= t->shrink[r + 16 * i];
		for (int n = 0; n < TILE; n++)
			for (int i = 0; i < 4; i++)
				for (int j = 0; j < 8; j++)
					acc[i][j] += t->p[r + 16 * i][n] * t->kv[n][c + 16 * j];
		__syncthreads();
	}
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 8; j++)
			o[mine + (int64_t)(r + 16 * i) * H * D + c + 16 * j] = acc[i][j] / t->sum[r + 16 * i];
}
