/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail nondeterministic|wrong-all */
/* on rowsum */
/* Several blocks add to one sum by a load and a store. */
extern "C" __global__ void rowsum(const float *x, float *s, int cols)
{
	volatile float *sum = s + blockIdx.x;
	float mine = x[(long)blockIdx.x * cols + blockIdx.y * 64 + threadIdx.x];

	for (int far = 16; far; far /= 2)
		mine += __shfl_xor_sync(0xffffffff, mine, far);
	if (threadIdx.x % 32 == 0)
		*sum = *sum + mine;
}

extern "C" __global__ void zero(float *s, int rows)
{
	int i = blockIdx.x * 64 + threadIdx.x;

	if (i < rows)
		s[i] = 0;
}
