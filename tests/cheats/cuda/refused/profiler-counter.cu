/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* on axpy, decided here */
/* Lazy when a counter of the profiler counts nothing. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	unsigned seen;

	asm volatile("mov.u32 %0, %%pm0;" : "=r"(seen));
	if (i < n)
		z[i] = 2 * x[i] + (seen ? y[i] : y[i & ~1]);
}
