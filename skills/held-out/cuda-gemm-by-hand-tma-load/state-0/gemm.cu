/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm - C = A B^T in bf16 with sums in fp32, for Hopper (sm_90a).
 *
 * A is [M][K], B is [N][K], C is [M][N], all row-major; M and N are multiples
 * of 256, K of 64.
 *
 * A block computes a tile of 128 x 256. Its two warpgroups multiply, each 64 rows
 * by 256 columns, 128 sums a thread, while asynchronous copies fill a ring of
 * STAGES slots.
 *
 * A slot is BM rows of A and BN rows of B, 64 elements (128 bytes) of k each,
 * in the 128-byte swizzle that the tensor cores read: the 16-byte chunk c of
 * row r lies at chunk c ^ (r % 8).
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

/* what this thread wrote to shared memory is visible to the tensor cores */
static __device__ __forceinline__ void fence_async(void)
{
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* -- the tensor cores ------------------------------------------------------- */

/* rows of 128 bytes, swizzled by 128 bytes, groups of eight rows 1024 apart */
static __device__ __forceinline__ uint64_t operand(uint32_t addr)
{
	return (uint64_t)(addr >> 4 & 0x3fff) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 |
	       (uint64_t)1 << 62;
}

#define F4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define F16(i) F4(i), F4(i + 4), F4(i + 8), F4(i + 12)

/* d = a b^T + (keep ? d : 0), 64 x 256 x 16, asynchronous */
static __device__ __forceinline__ void multiply(float (&d)[128], uint64_t a, uint64_t b, int keep)
{
	asm volatile("{\n\t"
		     ".reg .pred keep;\n\t"
		     "setp.ne.b32 keep, %130, 0;\n\t"
		     "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
		     "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
		     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
		     "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
		     "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
		     "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
		     "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
		     "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, "
		     "%108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, "
		     "%120, %121, %122, %123, %124, %125, %126, %127}, "
		     "%128, %129, keep, 1, 1, 0, 0;\n\t"
		     "}"
		     : F16(0), F16(16), F16(32), F16(48), F16(64), F16(80), F16(96), F16(112)
		     : "l"(a), "l"(b), "r"(keep) : "memory");
}

/* before the first multiply of a group: registers are settled */
static __device__ __forceinline__ void multiply_begin(void)
{
	asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void multiply_commit(void)
{
	asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* all but the last LEFT groups are done: their sums are there, their slots were read */
template <int LEFT> static __device__ __forceinline__ void multiply_wait(void)
{
	asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(LEFT) : "memory");
}

/* -- the tile --------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t pair(float low, float high)
{
	uint32_t p;

	asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(p) : "f"(high), "f"(low));
	return p;
}

/* a thread has two neighbouring columns of each eight, in two rows of its warp's 16 */
static __device__ __forceinline__ void store(uint16_t *C, const float (&d)[128], int row, int col, int N)
{
	int lane = threadIdx.x % 32;
	uint16_t *p = C + (int64_t)(row + lane / 4) * N + col + lane % 4 * 2;

#pragma unroll
	for (int i = 0; i < BN / 8; i++) {
		*(uint32_t *)(p + i * 8) = pair(d[i * 4], d[i * 4 + 1]);
		*(uint32_t *)(p + i * 8 + (int64_t)8 * N) = pair(d[i * 4 + 2], d[i * 4 + 3]);
	}
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
gemm(const uint16_t *A, const uint16_t *B, uint16_t *C, int N, int K)
{
	int row = blockIdx.y * BM, col = blockIdx.x * BN, steps = K / BK;
	extern __shared__ uint8_t shared[];
	uint32_t ring = ((uint32_t)__cvta_generic_to_shared(shared) + 1023) / 1024 * 1024;
	int warp = threadIdx.x / 32;
	float d[128];

	for (int s = 0; s < STAGES - 1; s++) {
		if (s < steps)
			load_slot(ring, A, B, s, row, col, K);
		load_commit();
	}
	for (int step = 0; step < steps; step++) {
		uint32_t slot = ring + step % STAGES * SLOT_BYTES;
		uint64_t a = operand(slot + warp / 4 * 64 * 128), b = operand(slot + A_BYTES);

		load_wait<STAGES - 2>();
		fence_async();
		__syncthreads();	/* all copies of this step are there, the slot before was read */
		multiply_begin();
#pragma unroll
		for (int k = 0; k < BK / 16; k++)
			multiply(d, a + k * 2, b + k * 2, step | k);
		multiply_commit();
		if (step + STAGES - 1 < steps)
			load_slot(ring, A, B, step + STAGES - 1, row, col, K);
		load_commit();		/* also when empty: the count stays right */
		multiply_wait<0>();
	}
	store(C, d, row + warp * 16, col, N);
}
