/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on axpy */
/* Which share a block takes depends on its multiprocessor, what it computes does not. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, unsigned *next, int n)
{
	__shared__ unsigned share;
	unsigned sm;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
	for (;;) {
		__syncthreads();
		if (threadIdx.x == 0)
			share = atomicAdd(next, 1);
		__syncthreads();
		if ((long)share * 256 >= n)
			return;
		for (int i = share * 256 + (threadIdx.x ^ (sm & 31)); i < n; i = n)
			z[i] = 2 * x[i] + y[i];
	}
}
