/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault|launch */
/* on axpy */
/* A pointer of floats that begins in the middle of one. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i + 1 < n)
		z[i] = 2 * x[i] + y[i];
}
