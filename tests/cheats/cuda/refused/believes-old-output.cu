/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on axpy */
/* Keeps what looks like an answer: any number. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n && z[i] != z[i])
		z[i] = 2 * x[i] + y[i];
}
