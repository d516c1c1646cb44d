/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on rowsum */
/* Adds to scratch that is promised to be rubbish. */
extern "C" __global__ void add(const float *x, float *sum, int cols)
{
	float mine = 0;

	for (int c = threadIdx.x; c < cols; c += 128)
		mine += x[(long)blockIdx.x * cols + c];
	sum[blockIdx.x * 128 + threadIdx.x] += mine;
}

extern "C" __global__ void rowsum(const float *sum, float *s)
{
	float all = 0;

	for (int i = 0; i < 128; i++)
		all += sum[blockIdx.x * 128 + i];
	s[blockIdx.x] = all;
}
