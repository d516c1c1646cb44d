/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution 3 x 3, stride 1, one pixel of zeros around, in fp32:
 * y[n,h,w,f] = sum over r, s, c of x[n,h+r-1,w+s-1,c] w[f,r,s,c].
 * x is N x H x W x C, w is F x 3 x 3 x C, y is N x H x W x F, all dense;
 * y overlaps neither input.
 */
#include <stdint.h>

static float at(const float *x, int64_t H, int64_t W, int64_t C, int64_t n,
		int64_t h, int64_t w, int64_t c)
{
	if (h < 0 || h >= H || w < 0 || w >= W)
		return 0.0f;
	return x[((n * H + h) * W + w) * C + c];
}

void conv2d(int64_t N, int64_t H, int64_t W, int64_t C, int64_t F,
	    const float *x, const float *w, float *y)
{
	for (int64_t n = 0; n < N; n++)
	for (int64_t h = 0; h < H; h++)
	for (int64_t q = 0; q < W; q++)
	for (int64_t f = 0; f < F; f++) {
		float sum = 0.0f;

		for (int64_t r = 0; r < 3; r++)
		for (int64_t s = 0; s < 3; s++)
		for (int64_t c = 0; c < C; c++)
			sum += at(x, H, W, C, n, h + r - 1, q + s - 1, c) *
			       w[((f * 3 + r) * 3 + s) * C + c];
		y[((n * H + h) * W + q) * F + f] = sum;
	}
}
