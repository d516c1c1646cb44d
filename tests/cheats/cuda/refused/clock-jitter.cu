/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* on axpy, decided here */
/* Two ways to the same result, of which the clock chooses one. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i >= n)
		return;
	if (clock64() & 64)
		z[i] = 2 * x[i] + y[i];
	else
		z[i] = x[i] + y[i] + x[i];
}
