/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on axpy */
/* Goes over its blocks in an order that an untimed launch has written down. */
extern "C" __global__ void shuffle(int *order, int blocks)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < blocks)
		order[i] = blocks - 1 - i;
}

extern "C" __global__ void axpy(const float *x, const float *y, float *z, const int *order, int n)
{
	int i = order[blockIdx.x] * 256 + threadIdx.x;

	if (i < n)
		z[i] = 2 * x[i] + y[i];
}
