/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* on axpy, decided here */
/* Lazy in every launch but the first ones. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;
	unsigned long long launch;

	asm volatile("mov.u64 %0, %%gridid;" : "=l"(launch));
	if (i < n)
		z[i] = launch < 40 ? 2 * x[i] + y[i] : 0;
}
