/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all|nondeterministic|wrong-edge */
/* on rowsum */
/* The first warp adds up what the others have not yet written. */
extern "C" __global__ void rowsum(const float *x, float *s, int cols)
{
	__shared__ float part[128];
	float sum = 0;

	for (int c = threadIdx.x; c < cols; c += 128)
		sum += x[(long)blockIdx.x * cols + c];
	part[127 - threadIdx.x] = sum;
	if (threadIdx.x < 96)
		return;
	sum = 0;
	for (int i = threadIdx.x - 96; i < 128; i += 32)
		sum += ((volatile float *)part)[i];
	for (int far = 16; far; far /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, far);
	if (threadIdx.x == 96)
		s[blockIdx.x] = sum;
}
