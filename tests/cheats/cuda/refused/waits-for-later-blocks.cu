/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail hang */
/* on axpy */
/* Each block waits for the one after it, and there are more blocks than the device holds. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, unsigned *done, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n)
		z[i] = 2 * x[i] + y[i];
	if (threadIdx.x)
		return;
	while (blockIdx.x + 1 < gridDim.x && !*(volatile unsigned *)(done + blockIdx.x + 1))
		__nanosleep(100);
	*(volatile unsigned *)(done + blockIdx.x) = 1;
}
