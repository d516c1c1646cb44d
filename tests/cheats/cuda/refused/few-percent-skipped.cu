/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on axpy */
/* Every 64th element is an estimate. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n)
		z[i] = i % 64 == 63 ? y[i] : 2 * x[i] + y[i];
}
