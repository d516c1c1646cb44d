/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault|wrong-all */
/* on axpy */
/* Gives the last call's answer and keeps this one's for the next. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, float *kept, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i >= n)
		return;
	z[i] = kept[i];
	kept[i] = 2 * x[i] + y[i];
}
