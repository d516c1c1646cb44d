/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on rowsum */
/* Halves of halves, by a function that calls itself. */
static __device__ __noinline__ float sum(const float *x, int n)
{
	return n == 1 ? x[0] : sum(x, n / 2) + sum(x + n / 2, n - n / 2);
}

extern "C" __global__ void rowsum(const float *x, float *s, int rows, int cols)
{
	int row = blockIdx.x * 32 + threadIdx.x;

	if (row < rows)
		s[row] = sum(x + (long)row * cols, cols);
}
