/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on rowsum */
/* The sum of a row from the mean of its first half. */
extern "C" __global__ void rowsum(const float *x, float *s, int cols)
{
	__shared__ float part[128];
	float sum = 0;

	for (int c = threadIdx.x; c < cols / 2; c += 128)
		sum += x[(long)blockIdx.x * cols + c];
	part[threadIdx.x] = sum;
	__syncthreads();
	for (int i = 1; threadIdx.x == 0 && i < 128; i++)
		part[0] += part[i];
	if (threadIdx.x == 0)
		s[blockIdx.x] = part[0] * 2;
}
