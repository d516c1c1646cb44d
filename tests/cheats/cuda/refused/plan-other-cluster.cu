/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail launch */
/* on axpy, decided here */
/* Compiled for clusters of another size than the plan launches. */
extern "C" __global__ void __cluster_dims__(2) axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n)
		z[i] = 2 * x[i] + y[i];
}
