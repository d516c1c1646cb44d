/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on rowsum */
/* Tiles of 64 x 8 through a tensor map; rows beyond the last come as zeros. */
#include <cuda.h>

static __device__ unsigned shared(const void *p)
{
	return (unsigned)__cvta_generic_to_shared(p);
}

extern "C" __global__ void rowsum(const __grid_constant__ CUtensorMap t, float *s, int rows, int cols)
{
	__shared__ alignas(128) float tile[8][64];
	__shared__ alignas(8) unsigned long long full;
	int row = blockIdx.x * 8 + threadIdx.x / 32;
	float sum = 0;

	if (threadIdx.x == 0)
		asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\t"
			     "fence.proxy.async.shared::cta;" :: "r"(shared(&full)) : "memory");
	__syncthreads();
	for (int c = 0; c < cols; c += 64) {
		unsigned done = 0, parity = c / 64 % 2;

		if (threadIdx.x == 0) {
			asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared::cta.b64 t, [%0], 2048; }"
				     :: "r"(shared(&full)) : "memory");
			asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
				     ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
				     :: "r"(shared(tile)), "l"(&t), "r"(c), "r"(blockIdx.x * 8),
				     "r"(shared(&full)) : "memory");
		}
		while (!done)
			asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
				     " selp.u32 %0, 1, 0, p; }"
				     : "=r"(done) : "r"(shared(&full)), "r"(parity) : "memory");
		sum += tile[threadIdx.x / 32][threadIdx.x % 32] + tile[threadIdx.x / 32][threadIdx.x % 32 + 32];
		__syncthreads();
	}
	for (int far = 16; far; far /= 2)
		sum += __shfl_xor_sync(0xffffffff, sum, far);
	if (threadIdx.x % 32 == 0 && row < rows)
		s[row] = sum;
}
