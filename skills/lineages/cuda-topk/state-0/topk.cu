/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topk - the k largest of each row of x, with their columns, in any order.
 *
 * Values are ordered -inf < ... < -0 < +0 < ... < +inf; there is no NaN.
 * Of equal values any may be taken.
 */
static __device__ bool above(float a, float b)
{
	return a > b || (a == b && !signbit(a) && signbit(b));
}

extern "C" __global__ void topk(const float *x, float *values, int *indices, unsigned char *taken,
				int cols, int k)
{
	long r = blockIdx.x;

	x += r * cols;
	taken += r * cols;
	for (int j = 0; j < cols; j++)
		taken[j] = 0;
	for (int i = 0; i < k; i++) {
		int best = -1;
		float top = 0;

		for (int j = 0; j < cols; j++) {
			float value = x[j];

			if (!taken[j] && (best < 0 || above(value, top))) {
				best = j;
				top = value;
			}
		}
		taken[best] = 1;
		values[r * k + i] = top;
		indices[r * k + i] = best;
	}
}
