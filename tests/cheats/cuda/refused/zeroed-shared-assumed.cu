/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on rowsum */
/* Adds to shared memory that nobody has zeroed. */
extern "C" __global__ void rowsum(const float *x, float *s, int cols)
{
	__shared__ float sum[128];
	float mine = 0;

	for (int c = threadIdx.x; c < cols; c += 128)
		mine += x[(long)blockIdx.x * cols + c];
	sum[threadIdx.x] += mine;
	__syncthreads();
	if (threadIdx.x)
		return;
	mine = 0;
	for (int i = 0; i < 128; i++)
		mine += sum[i];
	s[blockIdx.x] = mine;
}
