/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on axpy */
/* Every block waits a while by the clock before it begins, as one does that staggers its loads. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	for (long long begin = clock64(); clock64() - begin < 32 * (blockIdx.x % 4);)
		;
	if (i < n)
		z[i] = 2 * x[i] + y[i];
}
