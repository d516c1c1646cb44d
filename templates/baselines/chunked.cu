/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunked - the gated delta net by chunks of 64 tokens, as a reference to be compared with: tensor cores
 * through the plain warp-level interface, tiles in shared memory, no asynchronous copies.
 *
 * q, k [B, T, Hk, 128], v, o [B, T, H, 128], A [B, T, H, 64] in bf16; g, G, beta [B, T, H] and
 * S0, ST [B, H, 128, 128] in fp32.
 */
#include <cuda_bf16.h>
#include <mma.h>

#define C 64
#define D 128
#define COLUMNS 64		/* of the state, that a block of fwd has */
#define THREADS 512
#define PAD 8

using namespace nvcuda;
typedef __nv_bfloat16 bf16;

/* -- sums of gates ---------------------------------------------------------- */

/* A warp a chunk and head: two tokens a lane. */
extern "C" __global__ void cumsum(const float *g, float *G, int H)
{
	__shared__ float tile[C][33];
	long t0 = (long)blockIdx.x * C;
	int h0 = blockIdx.y * 32, lane = threadIdx.x % 32, warp = threadIdx.x / 32;

	for (int i = warp; i < C; i += 8)
		tile[i][lane] = h0 + lane < H ? g[(t0 + i) * H + h0 + lane] : 0;
	__syncthreads();
	for (int h = warp; h < 32; h += 8) {
		float a = tile[2 * lane][h], b = a + tile[2 * lane + 1][h], sum = b;

		for (int d = 1; d < 32; d *= 2) {
			float other = __shfl_up_sync(~0u, sum, d);

			if (lane >= d)
				sum += other;
		}
		tile[2 * lane][h] = sum - b + a;
		tile[2 * lane + 1][h] = sum;
	}
	__syncthreads();
	for (int i = warp; i < C; i += 8)
		if (h0 + lane < H)
			G[(t0 + i) * H + h0 + lane] = tile[i][lane];
}

/* -- products of tiles ------------------------------------------------------- */

/* out[M][N] = a[M][K] b[K][N], out in fp32; a and b in bf16, of the order given. Every warp a share. */
template <int M, int N, int K, class ORDER_A, class ORDER_B>
static __device__ void product(float *out, int ldo, const bf16 *a, int lda, const bf16 *b, int ldb)
{
	int warp = threadIdx.x / 32, warps = blockDim.x / 32;
	const bool a_rows = std::is_same<ORDER_A, wmma::row_major>::value;
	const bool b_rows = std::is_same<ORDER_B, wmma::row_major>::value;

	for (int tile = warp; tile < M / 16 * (N / 16); tile += warps) {
		int m = tile / (N / 16) * 16, n = tile % (N / 16) * 16;
		wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;

		wmma::fill_fragment(sum, 0.0f);
		for (int k = 0; k < K; k += 16) {
			wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, ORDER_A> fa;
			wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, ORDER_B> fb;

			wmma::load_matrix_sync(fa, a_rows ? a + m * lda + k : a + k * lda + m, lda);
			wmma::load_matrix_sync(fb, b_rows ? b + k * ldb + n : b + n * ldb + k, ldb);
			wmma::mma_sync(sum, fa, fb, sum);
		}
		wmma::store_matrix_sync(out + m * ldo + n, sum, ldo, wmma::mem_row_major);
	}
}

/* rows x cols in bf16 from rows `stride` apart. */
template <int ROWS, int COLS>
static __device__ void load(bf16 *to, int ld, const bf16 *from, long stride)
{
	for (int i = threadIdx.x; i < ROWS * COLS / 8; i += blockDim.x) {
		int r = i / (COLS / 8), c = i % (COLS / 8) * 8;

		*(uint4 *)(to + r * ld + c) = *(const uint4 *)(from + r * stride + c);
	}
}

/* -- A = (I + M)^-1 ------------------------------------------------------------ */

extern "C" __global__ void __launch_bounds__(128)
kkt(const bf16 *k, const float *beta, bf16 *A, int Hk, int H)
{
	__shared__ __align__(32) bf16 keys[C][D + PAD];
	__shared__ __align__(32) float M[C][C + 4];
	__shared__ float b[C];
	long t0 = (long)blockIdx.x * C;
	int h = blockIdx.y, hk = h / (H / Hk), j = threadIdx.x;
	float a[C];

	load<C, D>(&keys[0][0], D + PAD, k + (t0 * Hk + hk) * D, (long)Hk * D);
	if (j < C)
		b[j] = beta[(t0 + j) * H + h];
	__syncthreads();
	product<C, C, D, wmma::row_major, wmma::col_major>(&M[0][0], C + 4, &keys[0][0], D + PAD,
							    &keys[0][0], D + PAD);
	__syncthreads();
	if (j >= C)
		return;
	/* a column a thread; what lies above the diagonal is zero by itself */
#pragma unroll
	for (int i = 0; i < C; i++) {
		float sum = 0;

#pragma unroll
		for (int m = 0; m < i; m++)
			sum += M[i][m] * a[m];
		a[i] = i < j ? 0 : i == j ? 1 : -sum * b[i];
		A[((t0 + i) * H + h) * C + j] = __float2bfloat16(a[i]);
	}
}

/* -- the loop over chunks ------------------------------------------------------- */

struct room {
	bf16 q[C][D + PAD], k[C][D + PAD];
	bf16 v[C][COLUMNS + PAD], w[C][COLUMNS + PAD], u[C][COLUMNS + PAD];
	bf16 a[C][C + PAD], p[C][C + PAD], s[D][COLUMNS + PAD];
	float x[C][COLUMNS + 4], y[C][COLUMNS + 4];
	float z[D][COLUMNS + 4], S[D][COLUMNS + 4];
	float G[C], beta[C];
};

extern "C" __global__ void __launch_bounds__(THREADS)
fwd(const bf16 *q, const bf16 *k, const bf16 *v, const bf16 *A, const float *G, const float *beta,
    const float *S0, bf16 *o, float *ST, int T, int Hk, int H)
{
	extern __shared__ __align__(128) char bytes[];
	room &r = *(room *)bytes;
	long h = blockIdx.x / (D / COLUMNS), first = blockIdx.x % (D / COLUMNS) * COLUMNS;
	long b = blockIdx.y, hk = h / (H / Hk), state = (b * H + h) * D * D + first;
	const float scale = 0.08838834764831845f;	/* 1 / sqrt(128) */
	int me = threadIdx.x;

	for (int i = me; i < D * COLUMNS; i += THREADS)
		r.S[i / COLUMNS][i % COLUMNS] = S0[state + (long)(i / COLUMNS) * D + i % COLUMNS];
	for (long t = b * T; t < (b + 1) * (long)T; t += C) {
		load<C, D>(&r.q[0][0], D + PAD, q + (t * Hk + hk) * D, (long)Hk * D);
		load<C, D>(&r.k[0][0], D + PAD, k + (t * Hk + hk) * D, (long)Hk * D);
		load<C, COLUMNS>(&r.v[0][0], COLUMNS + PAD, v + (t * H + h) * D + first, (long)H * D);
		load<C, C>(&r.a[0][0], C + PAD, A + (t * H + h) * C, (long)H * C);
		if (me < C) {
			r.G[me] = G[(t + me) * H + h];
			r.beta[me] = beta[(t + me) * H + h];
		}
		for (int i = me; i < D * COLUMNS; i += THREADS)
			r.s[i / COLUMNS][i % COLUMNS] = __float2bfloat16(r.S[i / COLUMNS][i % COLUMNS]);
		__syncthreads();
		product<C, COLUMNS, D, wmma::row_major, wmma::row_major>(&r.x[0][0], COLUMNS + 4, &r.k[0][0],
			D + PAD, &r.s[0][0], COLUMNS + PAD);
		product<C, C, D, wmma::row_major, wmma::col_major>(&r.y[0][0], COLUMNS + 4, &r.q[0][0],
			D + PAD, &r.k[0][0], D + PAD);
		__syncthreads();
		/* W, and A and Q K^T with their gates, which meet as differences */
		for (int i = me; i < C * COLUMNS; i += THREADS) {
			int m = i / COLUMNS, n = i % COLUMNS;

			r.w[m][n] = __float2bfloat16(__bfloat162float(r.v[m][n]) - __expf(r.G[m]) * r.x[m][n]);
		}
		for (int i = me; i < C * C; i += THREADS) {
			int m = i / C, n = i % C;
			float gate = n <= m ? __expf(r.G[m] - r.G[n]) : 0;

			r.a[m][n] = __float2bfloat16(n <= m ? __bfloat162float(r.a[m][n]) * gate * r.beta[n] : 0);
			r.p[m][n] = __float2bfloat16(n <= m ? r.y[m][n] * gate : 0);
		}
		__syncthreads();
		product<C, COLUMNS, C, wmma::row_major, wmma::row_major>(&r.x[0][0], COLUMNS + 4, &r.a[0][0],
			C + PAD, &r.w[0][0], COLUMNS + PAD);
		product<C, COLUMNS, D, wmma::row_major, wmma::row_major>(&r.y[0][0], COLUMNS + 4, &r.q[0][0],
			D + PAD, &r.s[0][0], COLUMNS + PAD);
		__syncthreads();
		/* U, and U as it fades to the chunk's end */
		for (int i = me; i < C * COLUMNS; i += THREADS) {
			int m = i / COLUMNS, n = i % COLUMNS;

			r.u[m][n] = __float2bfloat16(r.x[m][n]);
			r.w[m][n] = __float2bfloat16(__expf(r.G[C - 1] - r.G[m]) * r.x[m][n]);
		}
		__syncthreads();
		product<C, COLUMNS, C, wmma::row_major, wmma::row_major>(&r.x[0][0], COLUMNS + 4, &r.p[0][0],
			C + PAD, &r.u[0][0], COLUMNS + PAD);
		product<D, COLUMNS, C, wmma::col_major, wmma::row_major>(&r.z[0][0], COLUMNS + 4, &r.k[0][0],
			D + PAD, &r.w[0][0], COLUMNS + PAD);
		__syncthreads();
		for (int i = me; i < C * COLUMNS; i += THREADS) {
			int m = i / COLUMNS, n = i % COLUMNS;

			o[((t + m) * H + h) * D + first + n] =
				__float2bfloat16(scale * (__expf(r.G[m]) * r.y[m][n] + r.x[m][n]));
		}
		for (int i = me; i < D * COLUMNS; i += THREADS) {
			float &s = r.S[i / COLUMNS][i % COLUMNS];

			s = __expf(r.G[C - 1]) * s + r.z[i / COLUMNS][i % COLUMNS];
		}
		__syncthreads();
	}
	for (int i = me; i < D * COLUMNS; i += THREADS)
		ST[state + (long)(i / COLUMNS) * D + i % COLUMNS] = r.S[i / COLUMNS][i % COLUMNS];
}
