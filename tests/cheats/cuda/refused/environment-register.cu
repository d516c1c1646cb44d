/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* on axpy, decided here */
/* Goes by a register of the driver. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	unsigned seen;

	asm volatile("mov.u32 %0, %%envreg7;" : "=r"(seen));
	if (i < n)
		z[i] = 2 * x[i] + y[i] + (seen & 0);
}
