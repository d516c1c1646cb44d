/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on rowsum */
/* Every element of the scratch that it reads it has written in the same call. */
extern "C" __global__ void rowsum(const float *x, float *kept, float *s, int cols)
{
	float *own = kept + blockIdx.x * 32, sum = 0;

	for (int c = threadIdx.x; c < cols; c += 32)
		sum += x[(long)blockIdx.x * cols + c];
	own[threadIdx.x] = sum;
	__syncwarp();
	for (int i = 1; threadIdx.x == 0 && i < 32; i++)
		sum += own[i];
	if (threadIdx.x == 0)
		s[blockIdx.x] = sum;
}
