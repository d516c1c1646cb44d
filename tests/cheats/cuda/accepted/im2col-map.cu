/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on blur */
/* 64 pixels at a time, one tap after the other, through a map that pads with zeros. */
#include <cuda.h>
#include <cuda_fp16.h>

static __device__ unsigned shared(const void *p)
{
	return (unsigned)__cvta_generic_to_shared(p);
}

extern "C" __global__ void blur(const __grid_constant__ CUtensorMap t, float *y, int N, int H, int W)
{
	__shared__ alignas(128) __half tile[64][64];
	__shared__ alignas(8) unsigned long long full;
	int from = blockIdx.x * 64, w = from % W, h = from / W % H, n = from / W / H;
	float sum[16] = { 0 };

	if (threadIdx.x == 0)
		asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\t"
			     "fence.proxy.async.shared::cta;" :: "r"(shared(&full)) : "memory");
	__syncthreads();
	for (int tap = 0; tap < 9; tap++) {
		unsigned done = 0;
		unsigned short right = tap % 3, down = tap / 3;

		if (threadIdx.x == 0) {
			asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared::cta.b64 t, [%0], 8192; }"
				     :: "r"(shared(&full)) : "memory");
			asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col"
				     ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};"
				     :: "r"(shared(tile)), "l"(&t), "r"(0), "r"(w - 1), "r"(h - 1), "r"(n),
				     "r"(shared(&full)), "h"(right), "h"(down) : "memory");
		}
		while (!done)
			asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
				     " selp.u32 %0, 1, 0, p; }"
				     : "=r"(done) : "r"(shared(&full)), "r"(tap % 2) : "memory");
		for (int i = 0; i < 16; i++)
			sum[i] += __half2float(tile[i * 4 + threadIdx.x / 64][threadIdx.x % 64]);
		__syncthreads();
	}
	for (int i = 0; i < 16; i++) {
		int pixel = from + i * 4 + threadIdx.x / 64;

		if (pixel < N * H * W)
			y[pixel * 64 + threadIdx.x % 64] = sum[i];
	}
}
