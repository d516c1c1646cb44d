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
#define NB (CHUNK / 16)		/* blocks along a chunk */
#define BLOCK (16 * 16)
#define LOWER (NB * (NB + 1) / 2)
#define WARPS 2
#define THREADS (32 * WARPS)
#define ROW (D + 8)		/* of the tile of k, padded: eight rows lie in 32 banks */

struct tile {
	float kk[LOWER][BLOCK], beta[CHUNK];
	union {
		__nv_bfloat162 k[CHUNK][ROW / 2];
		float inv[NB][BLOCK];
	};
};

/* place of an element in a block: the halves of rows 2 and 3 of each four are swapped */
static __device__ int at(int row, int col)
{
	return 16 * row + (col ^ (row & 2) << 2);
}

/* number of a block on or below the diagonal */
static __device__ int lower(int i, int j)
{
	return i * (i + 1) / 2 + j;
}

static __device__ unsigned bf16x2(float low, float high)
{
	__nv_bfloat162 x = __floats2bfloat162_rn(low, high);

	return *(unsigned *)&x;
}

/* rounded to the tensor cores' ten bits */
static __device__ float tf32(float x)
{
	unsigned d;

	asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(d) : "f"(x));
	return __uint_as_float(d);
}

static __device__ void mma_tf32(float (&c)[4], const float (&a)[4], float2 b)
{
	asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
		     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
		     : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])),
		       "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
		       "r"(__float_as_uint(b.x)), "r"(__float_as_uint(b.y)));
}

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

#pragma unroll
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
	for (int n = 0; n < 4; n++) {
		float *block = s->kk[lower(i, j + n / 2)];
		const float *x = c[n / 2][n % 2];

		if (j + n / 2 > i)
			break;
#pragma unroll
		for (int r = 0; r < 2; r++)
			*(float2 *)&block[at(g + 8 * r, n % 2 * 8 + 2 * t)] = j + n / 2 == i ?
				make_float2(x[2 * r], x[2 * r + 1]) :
				make_float2(tf32(x[2 * r]), tf32(x[2 * r + 1]));
	}
}

/* a column of the inverse of diagonal block b of a head, by substitution in registers */
static __device__ void substitute(struct tile *s, int b, int col, unsigned (&packed)[8])
{
	const float *kk = s->kk[lower(b, b)], *beta = s->beta + 16 * b;
	float x[16];

#pragma unroll
	for (int i = 0; i < 16; i++) {
		float sum = 0;

#pragma unroll
		for (int j = 0; j < i; j++)
			sum += kk[at(i, j)] * x[j];
		x[i] = (i == col) - beta[i] * sum;
		s->inv[b][at(i, col)] = tf32(x[i]);
	}
#pragma unroll
	for (int i = 0; i < 8; i++)
		packed[i] = bf16x2(x[2 * i], x[2 * i + 1]);
}

static __device__ void multiply(float (&c)[2][4], const float (&a)[2][4], const float *block)
{
	int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;

#pragma unroll
	for (int n = 0; n < 2; n++)
#pragma unroll
		for (int step = 0; step < 2; step++)
			mma_tf32(c[n], a[step], *(const float2 *)&block[at(8 * n + g, 8 * step + 2 * t)]);
}

/* a result as the left operand of the next product, its columns in the order 0 2 4 6 1 3 5 7 */
static __device__ void operand(float (&a)[2][4], const float (&c)[2][4])
{
#pragma unroll
	for (int n = 0; n < 2; n++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			a[n][i] = tf32(c[n][i / 2 + i % 2 * 2]);
}

/*
 * The blocks of block column C below the diagonal: A_iC = -A_ii sum_j M_ij A_jC, all
 * transposed, so that a result's registers are the next product's left operand.
 */
template <int C>
static __device__ void column(const struct tile *s, unsigned (*out)[4])
{
	int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
	float a[NB - C][2][4];

#pragma unroll
	for (int n = 0; n < 2; n++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			a[0][n][i] = s->inv[C][at(8 * n + 2 * t + i / 2, g + i % 2 * 8)];
#pragma unroll
	for (int i = C + 1; i < NB; i++) {
		float sum[2][4] = {}, x[2][4] = {}, b[2][4];

#pragma unroll
		for (int j = C; j < i; j++)
			multiply(sum, a[j - C], s->kk[lower(i, j)]);
#pragma unroll
		for (int n = 0; n < 2; n++)
#pragma unroll
			for (int r = 0; r < 4; r++)
				sum[n][r] *= -s->beta[16 * i + 8 * n + 2 * t + r % 2];
		operand(b, sum);
		multiply(x, b, s->inv[i]);
		operand(a[i - C], x);
#pragma unroll
		for (int n = 0; n < 4; n++)
			out[i - C - 1][n] = bf16x2(x[n / 2][n % 2 * 2], x[n / 2][n % 2 * 2 + 1]);
	}
}

/* block i, j of A from its transpose's registers */
static __device__ void put(__nv_bfloat16 *A, int H, int i, int j, const unsigned *r)
{
	int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;

#pragma unroll
	for (int n = 0; n < 4; n++) {
		__nv_bfloat162 x = *(const __nv_bfloat162 *)&r[n];
		__nv_bfloat16 *to = A + (size_t)(16 * i + n / 2 * 8 + 2 * t) * H * CHUNK + 16 * j + n % 2 * 8 + g;

		to[0] = x.x;
		to[(size_t)H * CHUNK] = x.y;
	}
}

/* A block a chunk and head. */
extern "C" __global__ void 
kkt(const __nv_bfloat16 *k, const float *beta, __nv_bfloat16 *A, int Hk, int H)
{
	__shared__ __align__(128) struct tile s;
	long t0 = (long)(blockIdx.x / H) * CHUNK;
	int h = blockIdx.x % H, hk = h / (H / Hk), tid = threadIdx.x;
	unsigned diagonal[8], out[3][4];

	for (int i = 0; i < CHUNK; i++)
		s.k[i][tid] = ((const __nv_bfloat162 *)(k + ((t0 + i) * Hk + hk) * D))[tid];
	s.beta[tid] = beta[(t0 + tid) * H + h];
	__syncthreads();
	for (int p = tid / 32; p < 6; p += WARPS)
		product(&s, p);
	__syncthreads();
	substitute(&s, tid / 16, tid % 16, diagonal);
	__syncthreads();
	A += (t0 * H + h) * CHUNK;
	if (tid < 32) {
		column<0>(&s, out);
		put(A, H, 1, 0, out[0]);
		put(A, H, 2, 0, out[1]);
		put(A, H, 3, 0, out[2]);
	} else {
		column<1>(&s, out);
		column<2>(&s, out + 2);
		put(A, H, 2, 1, out[0]);
		put(A, H, 3, 1, out[1]);
		put(A, H, 3, 2, out[2]);
	}
	/* the diagonal blocks, and the zeros above them */
#pragma unroll
	for (int i = 0; i < 16; i++) {
		unsigned short x = diagonal[i / 2] >> i % 2 * 16;

		A[(size_t)(tid / 16 * 16 + i) * H * CHUNK + tid] = __ushort_as_bfloat16(x);
	}
	for (int i = 0; i < tid / 16 * 16; i++)
		A[(size_t)i * H * CHUNK + tid] = __float2bfloat16(0);
}
