/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on rowsum */
/* All blocks wait for one another in the middle of a kernel. */
#include <cooperative_groups.h>

extern "C" __global__ void rowsum(const float *x, float *part, float *s, int rows, int cols)
{
	for (int r = blockIdx.x; r < rows; r += gridDim.x) {
		float sum = 0;

		for (int c = threadIdx.x; c < cols; c += 64)
			sum += x[(long)r * cols + c];
		part[r * 64 + threadIdx.x] = sum;
	}
	cooperative_groups::this_grid().sync();
	for (int r = blockIdx.x * 64 + threadIdx.x; r < rows; r += gridDim.x * 64) {
		float sum = 0;

		for (int i = 0; i < 64; i++)
			sum += part[r * 64 + i];
		s[r] = sum;
	}
}
