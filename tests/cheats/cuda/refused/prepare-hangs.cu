/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail hang */
/* on axpy */
/* Its preparation waits for what never comes. */
extern "C" __global__ void make_order(int *order)
{
	while (!threadIdx.x && *(volatile int *)order != 0x1234567)
		;
	order[blockIdx.x * 256 + threadIdx.x] = threadIdx.x;
}

extern "C" __global__ void axpy(const float *x, const float *y, float *z, const int *order, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n)
		z[i] = 2 * x[i] + y[i] + (order[i & 1023] & 0);
}
