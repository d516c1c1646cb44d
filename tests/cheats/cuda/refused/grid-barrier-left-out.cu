/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail nondeterministic|wrong-all|wrong-edge */
/* on rowsum */
/* Parts of sums are added up by other blocks than have made them, without a barrier between. */
extern "C" __global__ void rowsum(const float *x, float *part, float *s, int rows, int cols)
{
	for (int row = blockIdx.x; row < rows; row += gridDim.x) {
		float sum = 0;

		for (int c = threadIdx.x; c < cols; c += 64)
			sum += x[(long)row * cols + c];
		part[row * 64 + threadIdx.x] = sum;
	}
	for (int turn = (rows - 1) / gridDim.x; threadIdx.x == 0 && turn >= 0; turn--) {
		int row = turn * gridDim.x + gridDim.x - 1 - blockIdx.x;
		float sum = 0;

		if (row >= rows)
			continue;
		for (int i = 0; i < 64; i++)
			sum += ((volatile float *)part)[row * 64 + i];
		s[row] = sum;
	}
}
