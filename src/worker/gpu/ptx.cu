/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's own kernels (tool.h). ptx.c contains the compiled PTX, so that no build needs a CUDA
 * compiler; `make ptx` regenerates it.
 */
#include "widen.h"

typedef unsigned long long u64;

static __device__ __forceinline__ u64 finish(u64 z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static __device__ __forceinline__ u64 mix(u64 seed, u64 i)
{
	return finish(seed + (i + 1) * 0x9e3779b97f4a7c15ull);
}

/*
 * Words [0, n) at `base`, which is a multiple of 8, become words [first, first + n) of the pattern.
 * Of the first word only the bytes from `head` on are written, of the last only those before
 * `tail`.
 */
extern "C" __global__ void kl_fill(u64 *base, u64 n, u64 first, u64 seed, u64 keep, u64 set,
				   unsigned head, unsigned tail)
{
	u64 step = (u64)gridDim.x * blockDim.x;

#pragma unroll 1
	for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
		u64 v = (mix(seed, first + i) & keep) | set;
		unsigned from = i ? 0 : head, to = i == n - 1 ? tail : 8;

		if (from == 0 && to == 8) {
			base[i] = v;
			continue;
		}
		for (unsigned b = from; b < to; b++)
			((unsigned char *)(base + i))[b] = (unsigned char)(v >> (8 * b));
	}
}

/* Sets *where to the lowest byte, counted from `base`, that differs; unchanged if none does. */
extern "C" __global__ void kl_check(const u64 *base, u64 n, u64 first, u64 seed, u64 keep, u64 set,
				    unsigned head, unsigned tail, u64 *where)
{
	u64 step = (u64)gridDim.x * blockDim.x;

#pragma unroll 1
	for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
		u64 v = ((mix(seed, first + i) & keep) | set) ^ base[i];
		unsigned from = i ? 0 : head, to = i == n - 1 ? tail : 8;

		if (to < 8)
			v &= ((u64)1 << (8 * to)) - 1;
		v = v >> (8 * from) << (8 * from);
		if (v)
			atomicMin(where, 8 * i + (__ffsll((long long)v) - 1) / 8);
	}
}

/*
 * Adds a keyed fingerprint of `n` words to out[0] and out[1]; of the last word only `tail` bytes
 * count.
 */
extern "C" __global__ void kl_print(const u64 *base, u64 n, unsigned tail, u64 key, u64 *out)
{
	u64 step = (u64)gridDim.x * blockDim.x, a = 0, b = 0;

#pragma unroll 1
	for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
		u64 v = base[i];

		if (i == n - 1 && tail < 8)
			v &= ((u64)1 << (8 * tail)) - 1;
		a += finish(v ^ mix(key, i));
		b += finish(v + mix(~key, i));
	}
	for (int d = 16; d; d /= 2) {
		a += __shfl_down_sync(~0u, a, d);
		b += __shfl_down_sync(~0u, b, d);
	}
	if (threadIdx.x % 32 == 0) {
		atomicAdd(out, a);
		atomicAdd(out + 1, b);
	}
}

/* One block overwrites all shared memory that it is given. */
extern "C" __global__ void kl_scrub_shared(unsigned words, unsigned value)
{
	extern __shared__ unsigned room[];

	for (unsigned i = threadIdx.x; i < words; i += blockDim.x)
		((volatile unsigned *)room)[i] = value + i;
	__syncthreads();
}

/* Each thread overwrites its local memory. */
extern "C" __global__ void kl_scrub_local(unsigned value, unsigned *never)
{
	volatile unsigned room[128];

#pragma unroll 1
	for (unsigned i = 0; i < 128; i++)
		room[i] = value + i;
	if (never)
		*never = room[value % 128];
}

/* Elements [0, n) at `from` become doubles (`size` 8) or floats (4) at `to`. */
extern "C" __global__ void kl_widen(void *to, const void *from, u64 n, unsigned size, unsigned kind)
{
	u64 step = (u64)gridDim.x * blockDim.x;

#pragma unroll 1
	for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
		float v;

		/* one loop, not one for each type */
		asm volatile("" : "+r"(kind), "+r"(size));
		v = kl_widen_one(from, kind, i);
		if (size == 8)
			((double *)to)[i] = v;
		else
			((float *)to)[i] = v;
	}
}
