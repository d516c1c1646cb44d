/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on axpy */
/* Large values are cut off: none of the usual inputs are so large. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n)
		z[i] = 2 * fminf(fmaxf(x[i], -64), 64) + y[i];
}
