/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* on rowsum */
/* Adds nothing to an input, atomically: it may not be written at all. */
extern "C" __global__ void rowsum(const float *x, float *s, int cols)
{
	float *row = (float *)x + (long)blockIdx.x * cols;
	float sum = 0;

	for (int c = 0; threadIdx.x == 0 && c < cols; c++)
		sum += atomicAdd(row + c, 0.f);
	if (threadIdx.x == 0)
		s[blockIdx.x] = sum;
}
