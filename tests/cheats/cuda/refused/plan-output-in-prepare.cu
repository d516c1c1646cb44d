/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail launch */
/* on rowsum, decided here */
/* A launch that is not timed fills in the output. */
extern "C" __global__ void fill(float *s)
{
	s[threadIdx.x] = 0;
}

extern "C" __global__ void rowsum(const float *x, float *s, int cols)
{
	if (threadIdx.x == 0)
		s[blockIdx.x] = x[(long)blockIdx.x * cols];
}
