/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail launch */
/* on axpy, decided here */
/* Launches nothing. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n)
		z[i] = 2 * x[i] + y[i];
}
