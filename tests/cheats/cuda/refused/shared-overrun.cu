/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* on axpy */
/* Stores beyond the shared memory of a block. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	extern __shared__ float room[];

	((volatile float *)room)[60000 + threadIdx.x] = x[i < n ? i : 0];
	if (i < n)
		z[i] = 2 * ((volatile float *)room)[60000 + threadIdx.x] + y[i];
}
