/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on axpy */
/* As many blocks as the device holds, each with more than one share. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
		z[i] = 2 * x[i] + y[i];
}
