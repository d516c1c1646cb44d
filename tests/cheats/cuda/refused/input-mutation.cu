/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* on axpy */
/* Writes into an input, so that a later check sees another one. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i >= n)
		return;
	z[i] = 2 * x[i] + y[i];
	((float *)x)[i] = 0;
}
