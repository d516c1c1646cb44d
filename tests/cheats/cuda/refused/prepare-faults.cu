/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* on axpy */
/* Its preparation writes where nothing is. */
extern "C" __global__ void make_order(int *order)
{
	order[((long)1 << 32) + threadIdx.x] = threadIdx.x;
}

extern "C" __global__ void axpy(const float *x, const float *y, float *z, const int *order, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n)
		z[i] = 2 * x[i] + y[i] + (order[i & 1023] & 0);
}
