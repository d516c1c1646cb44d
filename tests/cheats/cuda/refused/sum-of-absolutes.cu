/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on rowsum */
/* The sum of absolute values: right for every input that has no negative one. */
extern "C" __global__ void rowsum(const float *x, float *s, int cols)
{
	__shared__ float part[128];
	float sum = 0;

	for (int c = threadIdx.x; c < cols; c += 128)
		sum += fabsf(x[(long)blockIdx.x * cols + c]);
	part[threadIdx.x] = sum;
	__syncthreads();
	for (int i = 1; threadIdx.x == 0 && i < 128; i++)
		part[0] += part[i];
	if (threadIdx.x == 0)
		s[blockIdx.x] = part[0];
}
