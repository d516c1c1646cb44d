/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that behave in every way that gpu.c expects an answer to. All scale: y[i] = s * x[i]. */
#include <assert.h>
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <stdio.h>

#define ARGS const float *x, float *y, int n, float s
#define EACH for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
#define FIRST (blockIdx.x == 0 && threadIdx.x == 0)
#define KERNEL(name) extern "C" __global__ void name

KERNEL(scale)(ARGS) { EACH y[i] = s * x[i]; }
KERNEL(wrong)(ARGS) { EACH y[i] = 0.99f * s * x[i]; }
KERNEL(half_done)(ARGS) { n -= n > 100; EACH y[i] = s * x[i]; }
KERNEL(beyond)(ARGS) { EACH y[i] = s * x[i]; if (FIRST) y[n + (1 << 20)] = 1; }
KERNEL(before)(ARGS) { EACH y[i] = s * x[i]; if (FIRST) y[-(1 << 20)] = 1; }
KERNEL(reads_beyond)(ARGS) { EACH y[i] = s * x[i]; if (FIRST) y[0] = ((volatile const float *)x)[n + (1 << 20)]; }
KERNEL(one_more)(ARGS) { n++; EACH y[i] = i < n - 1 ? s * x[i] : 1; }
KERNEL(stores_input)(ARGS) { EACH { y[i] = s * x[i]; ((float *)x)[i] = 0; } }
KERNEL(adds_input)(ARGS) { EACH { y[i] = s * x[i]; atomicAdd((float *)x + i, 1.f); } }
KERNEL(traps)(ARGS) { EACH y[i] = s * x[i]; if (FIRST) __trap(); }
KERNEL(asserts)(ARGS) { EACH y[i] = s * x[i]; assert(n < 0); }
KERNEL(misaligned)(ARGS) { if (FIRST) *(double *)((char *)y + 1) = 1; }
KERNEL(hangs)(ARGS) { EACH y[i] = s * x[i]; while (*(volatile float *)&y[0] == *(volatile float *)&y[0]) {} }
KERNEL(prints)(ARGS) { EACH { y[i] = s * x[i]; for (int k = 0; k < 1000; k++) printf("flood %d %d\n", i, k); } }
KERNEL(null)(ARGS) { if (FIRST) *(volatile int *)0 = 1; }

/* right in the first call alone, unless nothing lasts; one block, or few */
__device__ int calls;
KERNEL(by_global)(ARGS)
{
	int c = *(volatile int *)&calls;

	EACH y[i] = (c ? 0 : s) * x[i];
	__syncthreads();
	if (threadIdx.x == 0)
		calls = 1;
}

__constant__ int constant[16] = { 7 };
KERNEL(by_constant)(ARGS)
{
	int c = *(const volatile int *)&constant[0];

	EACH y[i] = (c == 7 ? s : 0) * x[i];
	__syncthreads();
	if (threadIdx.x == 0)
		*(volatile int *)&constant[0] = 8;
}

KERNEL(by_shared)(ARGS)
{
	extern __shared__ int room[];
	volatile int *r = room;
	int kept = r[threadIdx.x + 1000] == 12345;

	EACH y[i] = (kept ? 0 : s) * x[i];
	r[threadIdx.x + 1000] = 12345;
}

KERNEL(by_local)(ARGS)
{
	volatile int room[64];
	int kept = room[n % 64] == 54321;

	EACH y[i] = (kept ? 0 : s) * x[i];
	for (int k = 0; k < 64; k++)
		room[k] = 54321;
}

KERNEL(__launch_bounds__(128) small_blocks)(ARGS) { EACH y[i] = s * x[i]; }

/* what a launch asks for */
KERNEL(in_cluster)(ARGS)
{
	unsigned size;

	asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(size));
	EACH y[i] = (size == 2 ? s : 0) * x[i];
}

KERNEL(in_cluster16)(ARGS)
{
	unsigned size;

	asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(size));
	EACH y[i] = (size == 16 ? s : 0) * x[i];
}

KERNEL(together)(ARGS, float *t)
{
	EACH t[i] = s * x[i];
	cooperative_groups::this_grid().sync();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		y[n - 1 - i] = t[n - 1 - i];
}

KERNEL(first_of_two)(const float *x, float *t, int n, float s)
{
	EACH t[i] = s * x[i];
	asm volatile("griddepcontrol.launch_dependents;");
}

KERNEL(second_of_two)(const float *t, float *y, int n)
{
	asm volatile("griddepcontrol.wait;" ::: "memory");
	EACH y[i] = t[i];
}

KERNEL(ticks)(ARGS, unsigned *t)
{
	EACH y[i] = (t[0] < gridDim.x ? s : 0) * x[i];
	__syncthreads();
	if (threadIdx.x == 0 && atomicAdd(t, 1) == gridDim.x - 1)
		*t = 0;
}

KERNEL(ticks_on)(ARGS, unsigned *t) { EACH y[i] = s * x[i]; if (FIRST) t[2]++; }
KERNEL(zeroed)(ARGS, unsigned *t) { EACH y[i] = (t[i % 16] ? 0 : s) * x[i]; __syncthreads(); t[threadIdx.x % 16] = 1; }
KERNEL(make_table)(unsigned *t, int n) { t[threadIdx.x] = n + threadIdx.x; }
KERNEL(with_table)(ARGS, const unsigned *t) { EACH y[i] = (t[i % 16] == n + i % 16 ? s : 0) * x[i]; }
KERNEL(changes_table)(ARGS, unsigned *t) { EACH y[i] = s * x[i]; if (FIRST) t[0] = 0; }

/* rows of 128 floats, one a block, by the copy engine */
struct alignas(64) tensor_map { unsigned long long word[16]; };
KERNEL(by_tma)(const __grid_constant__ tensor_map m, float *y, int n, float s)
{
	__shared__ alignas(128) float row[128];
	__shared__ alignas(8) unsigned long long bar;
	unsigned at = (unsigned)__cvta_generic_to_shared(row), b = (unsigned)__cvta_generic_to_shared(&bar);

	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b));
		asm volatile("fence.proxy.async;");
		asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" :: "r"(b) : "memory");
		asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
			     "[%0], [%1, {%2, %3}], [%4];"
			     :: "r"(at), "l"(&m), "r"(0), "r"(blockIdx.x), "r"(b) : "memory");
	}
	__syncthreads();
	asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;"
		     " @!p bra W; }" :: "r"(b) : "memory");
	int i = blockIdx.x * 128 + threadIdx.x;
	if (i < n)
		y[i] = s * row[threadIdx.x];
}
