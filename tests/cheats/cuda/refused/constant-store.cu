/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault|wrong-all */
/* on axpy */
/* Right only from its second call on, by a count in constant memory: nothing that it stores there may last. */
static __constant__ unsigned calls;

extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;
	unsigned before = *(volatile unsigned *)&calls;

	if (i < n)
		z[i] = before ? 2 * x[i] + y[i] : 0;
	if (i == n - 1)
		atomicExch((unsigned *)&calls, 1);
}
