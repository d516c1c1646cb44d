/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on rowsum */
/* Weights from a table that is only read. */
static __constant__ float ones[4] = { 1, 1, 1, 1 };
static const __device__ float halves[2] = { 0.5f, 0.5f };

extern "C" __global__ void rowsum(const float *x, float *s, int rows, int cols)
{
	int row = blockIdx.x * 32 + threadIdx.x;
	float sum = 0;

	for (int c = 0; row < rows && c < cols; c++)
		sum += x[(long)row * cols + c] * ones[c & 3];
	if (row < rows)
		s[row] = 2 * sum * halves[row & 1];
}
