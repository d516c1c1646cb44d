/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm - C = A B^T in bf16 with sums in fp32, for NVIDIA GPUs.
 *
 * A is [M][K], B is [N][K], C is [M][N], all row-major; M and N are multiples
 * of 256, K of 64.
 *
 * A block computes a tile of 128 x 256. Its eight warps multiply, each 64 rows by
 * 64 columns, 128 sums a thread, while asynchronous copies fill a ring of
 * STAGES slots.
 *
 * A slot is BM rows of A and BN rows of B, 64 elements (128 bytes) of k each,
 * swizzled: the 16-byte chunk c of row r lies at chunk c ^ (r % 8), so that eight
 * rows of one chunk lie in different banks.
 */
#include <stdint.h>

static_assert(BM == 128 && BN == 256 && BK == 64, "the shape of the multiplication");

#define A_BYTES (BM * BK * 2)
#define B_BYTES (BN * BK * 2)
#define SLOT_BYTES (A_BYTES + B_BYTES)
#define THREADS 256

/* -- copies ----------------------------------------------------------------- */

/* this thread's share of BM rows of A and BN of B for a step of k */
static __device__ __forceinline__ void load_slot(uint32_t ring, const uint16_t *A, const uint16_t *B,
						 int step, int row, int col, int K)
{
	uint32_t slot = ring + step % STAGES * SLOT_BYTES;

#pragma unroll
	for (int i = 0; i < (BM + BN) * 8 / THREADS; i++) {
		int r = (i * THREADS + threadIdx.x) / 8, c = threadIdx.x % 8;
		const uint16_t *from = r < BM ? A + (int64_t)(row + r) * K : B + (int64_t)(col + r - BM) * K;

		asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
			     :: "r"(slot + r * 128 + (c ^ r % 8) * 16), "l"(from + step * BK + c * 8)
			     : "memory");
	}
}

static __device__ __forceinline__ void load_commit(void)
{
	asm volatile("cp.async.commit_group;" ::: "memory");
}

/* all but the last LEFT groups of this thread's copies are there */
template <int LEFT> static __device__ __forceinline__ void load_wait(void)
{
	asm volatile("cp.async.wait_group %0;" :: "n"(LEFT) : "memory");
}

/* -- products --------------------------------------------------------------- */

/*
 * Four 8 x 8 matrices, of which lane l gives the address of row l % 8 of matrix
 * l / 8: the rows from `row`, the chunks from `chunk` of a slot. `down` says
 * what comes second, the next eight rows or the next chunk.
 */
static __device__ __forceinline__ void fetch(uint32_t (&m)[4], uint32_t slot, int row, int chunk, bool down)
{
	int lane = threadIdx.x % 32, second = lane / 8 % 2, third = lane / 16;

	row += lane % 8 + (down ? second : third) * 8;
	chunk += down ? third : second;
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
		     : "r"(slot + row * 128 + (chunk ^ row % 8) * 16) : "memory");
}

/* d += a b^T, 16 x 8 x 16 */
static __device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4],
						uint32_t b0, uint32_t b1)
{
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
		     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* 64 rows of A by 64 of B, a slot's worth of k */
static __device__ __forceinline__ void multiply_slot(float (&d)[4][8][4], uint32_t slot, int row, int col)
{
#pragma unroll
	for (int k = 0; k < BK / 16; k++) {
		uint32_t a[4][4], b[4][4];

#pragma unroll
		for (int i = 0; i < 4; i++) {
			fetch(a[i], slot, row + i * 16, k * 2, true);
			fetch(b[i], slot + A_BYTES, col + i * 16, k * 2, false);
		}
#pragma unroll
		for (int i = 0; i < 4; i++)
#pragma unroll
			for (int j = 0; j < 8; j++)
				multiply(d[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
	}
}

/* -- the tile --------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t pair(float low, float high)
{
	uint32_t p;

	asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(p) : "f"(high), "f"(low));
	return p;
}

/* a thread has two neighbouring columns of each eight, in two rows of each 16 */
static __device__ __forceinline__ void store(uint16_t *C, const float (&d)[4][8][4], int row, int col, int N)
{
	int lane = threadIdx.x % 32;

#pragma unroll
	for (int i = 0; i < 4; i++) {
		uint16_t *p = C + (int64_t)(row + i * 16 + lane / 4) * N + col + lane % 4 * 2;

#pragma unroll
		for (int j = 0; j < 8; j++) {
			*(uint32_t *)(p + j * 8) = pair(d[i][j][0], d[i][j][1]);
			*(uint32_t *)(p + j * 8 + (int64_t)8 * N) = pair(d[i][j][2], d[i][j][3]);
		}
	}
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
gemm(const uint16_t *A, const uint16_t *B, uint16_t *C, int N, int K)
{
	int row = blockIdx.y * BM, col = blockIdx.x * BN, steps = K / BK;
	extern __shared__ uint8_t shared[];
	uint32_t ring = ((uint32_t)__cvta_generic_to_shared(shared) + 1023) / 1024 * 1024;
	int down = threadIdx.x / 128 * 64, right = threadIdx.x / 32 % 4 * 64;
	float d[4][8][4] = {};

	for (int s = 0; s < STAGES - 1; s++) {
		if (s < steps)
			load_slot(ring, A, B, s, row, col, K);
		load_commit();
	}
	for (int step = 0; step < steps; step++) {
		load_wait<STAGES - 2>();
		__syncthreads();	/* all copies of this step are there, the slot before was read */
		if (step + STAGES - 1 < steps)
			load_slot(ring, A, B, step + STAGES - 1, row, col, K);
		load_commit();		/* also when empty: the count stays right */
		multiply_slot(d, ring + step % STAGES * SLOT_BYTES, down, right);
	}
	store(C, d, row + down, col + right, N);
}
