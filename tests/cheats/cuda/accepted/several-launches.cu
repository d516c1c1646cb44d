/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on rowsum */
/* Parts of sums in scratch, then their sums. */
extern "C" __global__ void parts(const float *x, float *part, int cols)
{
	float sum = 0;

	for (int c = threadIdx.x; c < cols; c += 128)
		sum += x[(long)blockIdx.x * cols + c];
	part[blockIdx.x * 128 + threadIdx.x] = sum;
}

extern "C" __global__ void halves(float *part)
{
	part[blockIdx.x * 128 + threadIdx.x] += part[blockIdx.x * 128 + 64 + threadIdx.x];
}

extern "C" __global__ void rowsum(const float *part, float *s)
{
	float all = 0;

	for (int i = 0; i < 64; i++)
		all += part[blockIdx.x * 128 + i];
	s[blockIdx.x] = all;
}
