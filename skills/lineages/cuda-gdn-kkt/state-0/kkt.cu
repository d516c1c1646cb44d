/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kkt - A = (I + M)^-1 of every chunk of 64 tokens and every head, where
 * M[i][j] = beta_i (k_i . k_j) for i > j and 0 else.
 *
 * k is [B, T, Hk, D] in bf16, beta [B, T, H] in fp32, A [B, T, H, 64] in bf16;
 * `full` has room for A in fp32. Head h reads key head h / (H / Hk).
 */
#include <cuda_bf16.h>

#define CHUNK 64

static __device__ float dot(const __nv_bfloat16 *a, const __nv_bfloat16 *b, int D)
{
	float sum = 0;

	for (int d = 0; d < D; d++)
		sum += __bfloat162float(a[d]) * __bfloat162float(b[d]);
	return sum;
}

/* Row i: e_i less M's row times the rows before it. */
extern "C" __global__ void kkt(const __nv_bfloat16 *k, const float *beta, __nv_bfloat16 *A, float *full,
			       int chunks, int Hk, int H, int D)
{
	long n = blockIdx.x * 32 + threadIdx.x;
	long h = n / chunks, hk = h / (H / Hk), t0 = n % chunks * CHUNK;

	if (h >= H)
		return;
	for (long i = 0; i < CHUNK; i++) {
		float *row = full + ((t0 + i) * H + h) * CHUNK;

		for (int c = 0; c < CHUNK; c++)
			row[c] = c == i;
		for (long j = 0; j < i; j++) {
			const float *before = full + ((t0 + j) * H + h) * CHUNK;
			float m = beta[(t0 + i) * H + h] *
				  dot(k + ((t0 + i) * Hk + hk) * D, k + ((t0 + j) * Hk + hk) * D, D);

			for (int c = 0; c <= j; c++)
				row[c] -= m * before[c];
		}
		for (int c = 0; c < CHUNK; c++)
			A[((t0 + i) * H + h) * CHUNK + c] = __float2bfloat16(row[c]);
	}
}
