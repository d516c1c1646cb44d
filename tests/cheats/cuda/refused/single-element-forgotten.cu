/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-edge */
/* on axpy */
/* One element alone is too little for its vectors, and stays what it was. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (n > 1 && i < n)
		z[i] = 2 * x[i] + y[i];
}
