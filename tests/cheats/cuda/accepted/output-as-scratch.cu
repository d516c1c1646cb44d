/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on rowsum */
/* What is not yet the answer stands in the output meanwhile. */
extern "C" __global__ void rowsum(const float *x, float *s, int rows, int cols)
{
	int row = blockIdx.x * 32 + threadIdx.x;

	if (row >= rows)
		return;
	s[row] = 0;
	for (int c = 0; c < cols; c++)
		((volatile float *)s)[row] += x[(long)row * cols + c];
}
