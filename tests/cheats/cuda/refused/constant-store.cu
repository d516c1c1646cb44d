/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat|wrong-all|nondeterministic */
/* on axpy */
/* Counts its calls in constant memory, and is right three times. */
static __constant__ unsigned calls;

extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;
	unsigned before = *(volatile unsigned *)&calls;

	if (i < n)
		z[i] = before < 3 ? 2 * x[i] + y[i] : 0;
	if (i == 0)
		atomicAdd((unsigned *)&calls, 1);
}
