/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* on axpy, decided here */
/* Counts its calls in a variable of the device, and is lazy from the third on. */
static __device__ unsigned calls;

extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;
	unsigned before = *(volatile unsigned *)&calls;

	if (i < n && before < 3)
		z[i] = 2 * x[i] + y[i];
	if (i == 0)
		atomicAdd(&calls, 1);
}
