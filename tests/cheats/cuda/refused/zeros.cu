/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on axpy */
/* Nothing but zeros. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n)
		z[i] = 0;
}
