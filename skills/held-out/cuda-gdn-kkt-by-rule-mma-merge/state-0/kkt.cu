/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kkt - A = (I + M)^-1 of every chunk of 64 tokens and every head, where
 * M[i][j] = beta_i (k_i . k_j) for i > j and 0 else.
 *
 * k is [B, T, Hk, D] in bf16, beta [B, T, H] in fp32, A [B, T, H, 64] in bf16. D is 128.
 * Head h reads key head h / (H / Hk).
 */
#include <cuda_bf16.h>

#define CHUNK 64
#define D 128
#define WARPS 2
#define ROW (D + 8)		/* of the tile of k, padded: eight rows lie in 32 banks */

struct tile {
	float M[CHUNK][CHUNK], beta[CHUNK];
	union {
		__nv_bfloat162 k[CHUNK][ROW / 2];
		float X[CHUNK][CHUNK];
	};
};

static __device__ void mma_bf16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
		     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* 16 x 16 of k: the left operand of a product, and, taken as 0, 2 and 1, 3, two right ones */
static __device__ void load_matrix(unsigned (&r)[4], const __nv_bfloat162 (*k)[ROW / 2], int row,
				   int col)
{
	int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;

#pragma unroll 1
	for (int i = 0; i < 4; i++)
		r[i] = *(const unsigned *)&k[row + g + i % 2 * 8][col / 2 + t + i / 2 * 4];
}

/*
 * The p-th of six pieces of K K^T: blocks i, j and i, j + 1, the second only where it is
 * not above the diagonal.
 */
static __device__ void product(struct tile *s, int p)
{
	int i = p < 4 ? 3 - p / 2 : 5 - p, j = p < 4 ? p % 2 * 2 : 0;
	int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
	float c[2][2][4] = {};

#pragma unroll
	for (int d = 0; d < D; d += 16) {
		unsigned a[4], b[4];

		load_matrix(a, s->k, 16 * i, d);
		load_matrix(b, s->k, 16 * j, d);
		mma_bf16(c[0][0], a, b[0], b[2]);
		mma_bf16(c[0][1], a, b[1], b[3]);
		if (j < i) {
			load_matrix(b, s->k, 16 * j + 16, d);
			mma_bf16(c[1][0], a, b[0], b[2]);
			mma_bf16(c[1][1], a, b[1], b[3]);
		}
	}
#pragma unroll
	for (int n = 0; n < 4; n++)
		for (int r = 0; r < 4 && (n < 2 || j < i); r++) {
			int row = 16 * i + g + r / 2 * 8, col = 16 * j + 8 * n + 2 * t + r % 2;

			s->M[row][col] = s->beta[row] * c[n / 2][n % 2][r];
		}
}

/* column c of the inverse of its diagonal block, by substitution in registers */
static __device__ void substitute(struct tile *s, int c)
{
	int b = c / 16 * 16;
	float x[16];

#pragma unroll
	for (int i = 0; i < 16; i++) {
		float sum = b + i == c;

#pragma unroll
		for (int j = 0; j < i; j++)
			sum -= s->M[b + i][b + j] * x[j];
		x[i] = sum;
		s->X[b + i][c] = x[i];
	}
}

/* the rest of column c: X_i = -A_ii (M_i0 X_0 + M_i1 X_1 + ...) in blocks of 16 rows */
static __device__ void extend(struct tile *s, int c)
{
	for (int i = c / 16 * 16 + 16; i < CHUNK; i += 16) {
		float sum[16] = {}, x[16] = {};

		for (int j = c / 16 * 16; j < i; j++)
#pragma unroll
			for (int r = 0; r < 16; r++)
				sum[r] += s->M[i + r][j] * s->X[j][c];
#pragma unroll
		for (int m = 0; m < 16; m++)
#pragma unroll
			for (int r = m; r < 16; r++)
				x[r] -= s->X[i + r][i + m] * sum[m];
#pragma unroll
		for (int r = 0; r < 16; r++)
			s->X[i + r][c] = x[r];
	}
}

/* A block a chunk and head, a thread a column of A, which needs no other column. */
extern "C" __global__ void kkt(const __nv_bfloat16 *k, const float *beta, __nv_bfloat16 *A,
			       int Hk, int H)
{
	__shared__ struct tile s;
	long t0 = (long)(blockIdx.x / H) * CHUNK;
	int h = blockIdx.x % H, hk = h / (H / Hk), c = threadIdx.x;

	for (int i = 0; i < CHUNK; i++)
		s.k[i][c] = ((const __nv_bfloat162 *)(k + ((t0 + i) * Hk + hk) * D))[c];
	s.beta[c] = beta[(t0 + c) * H + h];
	__syncthreads();
	for (int p = c / 32; p < 6; p += WARPS)
		product(&s, p);
	__syncthreads();
	substitute(&s, c);
	__syncthreads();
	extend(&s, c);
	for (int i = 0; i < CHUNK; i++)
		A[((t0 + i) * H + h) * CHUNK + c] =
			__float2bfloat16(i / 16 < c / 16 ? 0 : s.X[i][c]);
}
