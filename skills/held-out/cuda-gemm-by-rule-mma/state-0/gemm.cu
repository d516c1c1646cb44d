/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm - C = A B^T in bf16 with sums in fp32, for NVIDIA GPUs.
 *
 * A is [M][K], B is [N][K], C is [M][N], all row-major; M and N are multiples
 * of 256, K of 64.
 *
 * A block computes a tile of 128 x 256. Its 256 threads multiply, each 8 rows by 16
 * columns, 128 sums a thread, one step of k after another: all threads load a
 * slot into shared memory, then all multiply from it.
 *
 * The slot is BM rows of A and BN rows of B, 64 elements (128 bytes) of k each and
 * 16 bytes of padding, so that eight rows of one 16-byte chunk lie in different
 * banks.
 */
#include <stdint.h>

static_assert(BM == 128 && BN == 256 && BK == 64, "the shape of the multiplication");

#define PITCH (BK * 2 + 16)
#define A_BYTES (BM * PITCH)
#define THREADS 256

/* -- copies ----------------------------------------------------------------- */

/* this thread's share of BM rows of A and BN of B for a step of k */
static __device__ __forceinline__ void load_slot(uint8_t *slot, const uint16_t *A, const uint16_t *B,
						 int step, int row, int col, int K)
{
#pragma unroll
	for (int i = 0; i < (BM + BN) * 8 / THREADS; i++) {
		int r = (i * THREADS + threadIdx.x) / 8, c = threadIdx.x % 8;
		const uint16_t *from = r < BM ? A + (int64_t)(row + r) * K : B + (int64_t)(col + r - BM) * K;

		{
			uint4 kl_v = make_uint4(((const unsigned *)(from + step * BK + c * 8))[0],
			((const unsigned *)(from + step * BK + c * 8))[1],
			((const unsigned *)(from + step * BK + c * 8))[2],
			((const unsigned *)(from + step * BK + c * 8))[3]);

			((unsigned *)(slot + r * PITCH + c * 16))[0] = kl_v.x;
			((unsigned *)(slot + r * PITCH + c * 16))[1] = kl_v.y;
			((unsigned *)(slot + r * PITCH + c * 16))[2] = kl_v.z;
			((unsigned *)(slot + r * PITCH + c * 16))[3] = kl_v.w;
		}
	}
}

/* -- products --------------------------------------------------------------- */

static __device__ __forceinline__ float low(uint32_t pair)
{
	return __uint_as_float(pair << 16);
}

static __device__ __forceinline__ float high(uint32_t pair)
{
	return __uint_as_float(pair & 0xffff0000);
}

/* every 16th row of A from `row` by every 16th of B from `col`, a slot's worth of k */
static __device__ __forceinline__ void multiply_slot(float (&d)[8][16], const uint8_t *slot, int row, int col)
{
#pragma unroll 4
	for (int k = 0; k < BK; k += 2) {
		uint32_t a[8], b[16];

#pragma unroll
		for (int i = 0; i < 8; i++)
			a[i] = *(const uint32_t *)(slot + (row + i * 16) * PITCH + k * 2);
#pragma unroll
		for (int j = 0; j < 16; j++)
			b[j] = *(const uint32_t *)(slot + A_BYTES + (col + j * 16) * PITCH + k * 2);
#pragma unroll
		for (int i = 0; i < 8; i++)
#pragma unroll
			for (int j = 0; j < 16; j++) {
				d[i][j] += low(a[i]) * low(b[j]);
				d[i][j] += high(a[i]) * high(b[j]);
			}
	}
}

/* -- the tile --------------------------------------------------------------- */

static __device__ __forceinline__ uint16_t rounded(float x)
{
	uint16_t y;

	asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
	return y;
}

static __device__ __forceinline__ void store(uint16_t *C, const float (&d)[8][16], int row, int col, int N)
{
#pragma unroll
	for (int i = 0; i < 8; i++)
#pragma unroll
		for (int j = 0; j < 16; j++)
			C[(int64_t)(row + i * 16) * N + col + j * 16] = rounded(d[i][j]);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
gemm(const uint16_t *A, const uint16_t *B, uint16_t *C, int N, int K)
{
	int row = blockIdx.y * BM, col = blockIdx.x * BN;
	extern __shared__ __align__(128) uint8_t slot[];
	int down = threadIdx.x / 16, right = threadIdx.x % 16;
	float d[8][16] = {};

	for (int step = 0; step < K / BK; step++) {
		load_slot(slot, A, B, step, row, col, K);
		__syncthreads();	/* the slot is filled */
		multiply_slot(d, slot, down, right);
		__syncthreads();	/* the slot was read by all */
	}
	store(C, d, row + down, col + right, N);
}
