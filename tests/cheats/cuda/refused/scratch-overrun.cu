/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* on rowsum */
/* Stores one element beyond its scratch. */
extern "C" __global__ void rowsum(const float *x, float *part, float *s, int rows, int cols)
{
	float sum = 0;

	for (int c = threadIdx.x; c < cols; c += 32)
		sum += x[(long)blockIdx.x * cols + c];
	for (int far = 16; far; far /= 2)
		sum += __shfl_xor_sync(0xffffffff, sum, far);
	if (threadIdx.x)
		return;
	part[blockIdx.x + 1] = sum;
	s[blockIdx.x] = part[blockIdx.x + 1];
}
