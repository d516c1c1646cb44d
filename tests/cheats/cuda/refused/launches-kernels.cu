/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail compile */
/* on axpy, decided here */
/* Launches a kernel of its own. */
static __global__ void own(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n)
		z[i] = 2 * x[i] + y[i];
}

extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	if (blockIdx.x == 0 && threadIdx.x == 0)
		own<<<(n + 255) / 256, 256>>>(x, y, z, n);
}
