/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on axpy */
/* NaN, which compares with nothing. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n)
		z[i] = __int_as_float(0x7fffffff);
}
