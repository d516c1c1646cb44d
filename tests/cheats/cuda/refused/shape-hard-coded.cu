/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault|wrong-edge */
/* on rowsum */
/* 2048 columns, whatever the plan says. */
extern "C" __global__ void rowsum(const float *x, float *s, int cols)
{
	__shared__ float part[128];
	float sum = 0;

	for (int c = threadIdx.x; c < 2048; c += 128)
		sum += x[(long)blockIdx.x * cols + c];
	part[threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.x)
		return;
	for (int i = 1; i < 128; i++)
		sum += part[i];
	s[blockIdx.x] = sum;
}
