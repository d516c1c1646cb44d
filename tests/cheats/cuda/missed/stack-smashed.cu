/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass, and it should not: an H100 ended it without a fault, with right answers */
/* on axpy */
/* Writes far beyond an array of its own. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	volatile float own[4];

	for (int k = 0; k < 4; k++)
		own[k] = x[i < n ? i : 0];
	((volatile float *)own)[(1 << 22) + (n & 1)] = 1;
	if (i < n)
		z[i] = 2 * own[n & 3] + y[i];
}
