/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail hang */
/* on axpy */
/* One thread waits for what never comes. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n)
		z[i] = 2 * x[i] + y[i];
	while (i == 0 && *(volatile const int *)&z[0] != 0x7fc12345)
		;
}
