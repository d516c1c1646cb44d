/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on rowsum */
/* Adds to scratch that the plan has zeroed, one block after the other. */
extern "C" __global__ void rowsum(const float *x, float *sum, float *s, int cols, int turn, int turns)
{
	int from = turn * (cols / turns), to = turn + 1 == turns ? cols : from + cols / turns;
	float mine = 0;

	for (int c = from + threadIdx.x; c < to; c += 32)
		mine += x[(long)blockIdx.x * cols + c];
	for (int far = 16; far; far /= 2)
		mine += __shfl_xor_sync(0xffffffff, mine, far);
	if (threadIdx.x)
		return;
	sum[blockIdx.x] += mine;
	if (turn + 1 == turns)
		s[blockIdx.x] = sum[blockIdx.x];
}
