/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* on axpy, decided here */
/* Waits for what comes never, gives up by the clock, and goes by what it has seen until then. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x, seen;
	long long begin = clock64();

	if (i >= n)
		return;
	while (!(seen = *(volatile const int *)&x[i] == 12345))
		if (clock64() - begin > 1000)
			break;
	if (!seen)
		z[i] = 2 * x[i] + y[i];
}
