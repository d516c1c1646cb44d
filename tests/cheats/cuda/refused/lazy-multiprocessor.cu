/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all|nondeterministic */
/* on axpy */
/* The blocks that come to one multiprocessor compute nothing. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	unsigned sm;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
	if (i < n && sm != 5)
		z[i] = 2 * x[i] + y[i];
}
