/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm - C = A B^T in bf16 with sums in fp32, for Hopper (sm_90a).
 *
 * A is [M][K], B is [N][K], C is [M][N], all row-major; M and N are multiples
 * of 256, K of 64.
 *
 * A cluster of two blocks computes a tile of 256 x 256: each block its own
 * 128 rows of A, both the same 256 rows of B, of which each fetches one half
 * for both. A block has a warpgroup that feeds a ring of STAGES slots and
 * two that multiply, each 64 rows by 256 columns, 128 sums a thread. The
 * clusters stay and take one tile after another.
 *
 * A slot is BM rows of A and BN rows of B, 64 elements (128 bytes) of k each,
 * in the 128-byte swizzle that the copy engine writes and the tensor cores
 * read: the 16-byte chunk c of row r lies at chunk c ^ (r % 8).
 */
#include <stdint.h>

static_assert(BM == 128 && BN == 256 && BK == 64, "the shape of the multiplication");

#define A_BYTES (BM * BK * 2)
#define B_BYTES (BN * BK * 2)
#define SLOT_BYTES (A_BYTES + B_BYTES)
#define CLUSTER 2
#define CONSUMERS 8		/* warps that multiply */

struct __align__(64) tensor_map {
	uint8_t opaque[128];
};

/* -- clusters --------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t cluster_rank(void)
{
	uint32_t rank;

	asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
	return rank;
}

static __device__ __forceinline__ void cluster_sync(void)
{
	asm volatile("barrier.cluster.arrive.release;\n\t"
		     "barrier.cluster.wait.acquire;" ::: "memory");
}

/* -- barriers in shared memory, which count arrivals and bytes -------------- */

static __device__ __forceinline__ void bar_init(uint32_t bar, uint32_t count)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(bar), "r"(count) : "memory");
}

/* make initialized barriers visible to the copy engine and to the cluster */
static __device__ __forceinline__ void bar_publish(void)
{
	asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* arrive, and let the phase last until that many bytes have come */
static __device__ __forceinline__ void bar_expect(uint32_t bar, uint32_t bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
		     :: "r"(bar), "r"(bytes) : "memory");
}

/*
 * Arrive at the same barrier of block `rank` of the cluster. Nothing written by
 * this thread is handed over, so no release at cluster scope is asked for.
 */
static __device__ __forceinline__ void bar_arrive(uint32_t bar, uint32_t rank)
{
	asm volatile("{\n\t"
		     ".reg .b32 there;\n\t"
		     "mapa.shared::cluster.u32 there, %0, %1;\n\t"
		     "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t"
		     "}" :: "r"(bar), "r"(rank) : "memory");
}

static __device__ __forceinline__ void bar_wait(uint32_t bar, uint32_t parity)
{
	uint32_t done;

	do {
		asm volatile("{\n\t"
			     ".reg .pred p;\n\t"
			     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
			     "selp.u32 %0, 1, 0, p;\n\t"
			     "}" : "=r"(done) : "r"(bar), "r"(parity) : "memory");
	} while (!done);
}

/* -- the copy engine -------------------------------------------------------- */

static __device__ __forceinline__ void load_box(uint32_t to, const struct tensor_map *map,
						int k, int row, uint32_t bar)
{
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
		     " [%0], [%1, {%3, %4}], [%2];"
		     :: "r"(to), "l"(map), "r"(bar), "r"(k), "r"(row) : "memory");
}

/* to the same place in both blocks; each block's own barrier counts the bytes */
static __device__ __forceinline__ void load_box_both(uint32_t to, const struct tensor_map *map,
						     int k, int row, uint32_t bar)
{
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
		     ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;"
		     :: "r"(to), "l"(map), "r"(bar), "r"(k), "r"(row), "h"((uint16_t)3) : "memory");
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

/* registers of a warpgroup, from and to the block's pool */
template <int COUNT> static __device__ __forceinline__ void registers_give(void)
{
	asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(COUNT));
}

template <int COUNT> static __device__ __forceinline__ void registers_take(void)
{
	asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(COUNT));
}

/* -- a tile's place, and a place in the ring -------------------------------- */

struct ring {
	uint32_t slots, full, empty;	/* addresses in shared memory */
	uint32_t slot, phase;
};

static __device__ __forceinline__ void ring_next(struct ring *r)
{
	if (++r->slot == STAGES) {
		r->slot = 0;
		r->phase ^= 1;
	}
}

/* tiles are taken row of tiles by row of tiles */
static __device__ __forceinline__ void place(int tile, int N, int *row, int *col)
{
	int cols = N / BN;

	*row = tile / cols * CLUSTER * BM + (int)cluster_rank() * BM;
	*col = tile % cols * BN;
}

/* -- the two roles ---------------------------------------------------------- */

/* one thread: keep the ring filled */
static __device__ __forceinline__ void produce(const struct tensor_map *ta, const struct tensor_map *tb,
					       struct ring r, int M, int N, int K)
{
	int tiles = M / (CLUSTER * BM) * (N / BN), rank = (int)cluster_rank();

	for (int tile = blockIdx.x / CLUSTER; tile < tiles; tile += gridDim.x / CLUSTER) {
		int row, col;

		place(tile, N, &row, &col);
		for (int k = 0; k < K; k += BK) {
			uint32_t a = r.slots + r.slot * SLOT_BYTES, full = r.full + r.slot * 8;
			uint32_t b = a + A_BYTES + rank * (B_BYTES / CLUSTER);

			/* free in both blocks: the half of B goes to both */
			bar_wait(r.empty + r.slot * 8, r.phase ^ 1);
			bar_expect(full, SLOT_BYTES);
			load_box(a, ta, k, row, full);
			load_box_both(b, tb, k, col + rank * (BN / CLUSTER), full);
			ring_next(&r);
		}
	}
}

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

/* two warpgroups: multiply what the ring holds, and store the tile */
static __device__ __forceinline__ void consume(uint16_t *C, struct ring r, int M, int N, int K)
{
	int tiles = M / (CLUSTER * BM) * (N / BN), steps = K / BK;
	uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 - 4;
	float d[128];

	for (int tile = blockIdx.x / CLUSTER; tile < tiles; tile += gridDim.x / CLUSTER) {
		uint32_t before = 0;
		int row, col;

		place(tile, N, &row, &col);
		for (int step = 0; step < steps; step++) {
			uint32_t slot = r.slots + r.slot * SLOT_BYTES;
			uint64_t a = operand(slot + warp / 4 * 64 * 128), b = operand(slot + A_BYTES);

			bar_wait(r.full + r.slot * 8, r.phase);
			multiply_begin();
#pragma unroll
			for (int k = 0; k < BK / 16; k++)
				multiply(d, a + k * 2, b + k * 2, step | k);
			multiply_commit();
			multiply_wait<1>();
			if (step && lane < CLUSTER)
				bar_arrive(r.empty + before * 8, lane);
			before = r.slot;
			ring_next(&r);
		}
		multiply_wait<0>();
		if (lane < CLUSTER)
			bar_arrive(r.empty + before * 8, lane);
		store(C, d, row + (int)warp * 16, col, N);
	}
}

extern "C" __global__ void 
gemm(const __grid_constant__ struct tensor_map ta, const __grid_constant__ struct tensor_map tb,
     uint16_t *C, int M, int N, int K)
{
	extern __shared__ uint8_t shared[];
	__shared__ uint64_t bars[2 * STAGES];
	struct ring r = {};

	r.slots = ((uint32_t)__cvta_generic_to_shared(shared) + 1023) / 1024 * 1024;
	r.full = (uint32_t)__cvta_generic_to_shared(bars);
	r.empty = r.full + STAGES * 8;
	if (threadIdx.x == 0) {
		for (int s = 0; s < STAGES; s++) {
			bar_init(r.full + s * 8, 1);
			bar_init(r.empty + s * 8, CONSUMERS * CLUSTER);
		}
		bar_publish();
	}
	cluster_sync();			/* nobody sends to a block before its barriers are there */
	if (threadIdx.x < 128) {
		registers_give<24>();
		if (threadIdx.x == 0)
			produce(&ta, &tb, r, M, N, K);
	} else {
		registers_take<240>();
		consume(C, r, M, N, K);
	}
	cluster_sync();			/* nor after it is gone */
}
