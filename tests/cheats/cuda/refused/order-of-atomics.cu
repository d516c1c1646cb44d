/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail nondeterministic|wrong-all */
/* on rowsum */
/*
 * Sums in the order of arrival, where the same input must give the same bits. Atomic additions flush
 * denormal sums to zero, too, so that the band 'denormal' can refuse the kernel first.
 */
extern "C" __global__ void rowsum(const float *x, float *s, int cols)
{
	atomicAdd(&s[blockIdx.x], x[(long)blockIdx.x * cols + blockIdx.y * 64 + threadIdx.x]);
}

extern "C" __global__ void zero(float *s, int rows)
{
	int i = blockIdx.x * 64 + threadIdx.x;

	if (i < rows)
		s[i] = 0;
}
