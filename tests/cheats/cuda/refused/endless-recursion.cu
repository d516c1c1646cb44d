/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail compile|fault */
/* on axpy */
/* A stack without end. */
static __device__ __noinline__ float deep(const float *x, int i)
{
	return i < 0 ? 0 : x[0] > 1e30f ? 0 : deep(x, i + 1) + x[i & 1];
}

extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n)
		z[i] = 2 * x[i] + y[i] + 0 * deep(x, 0);
}
