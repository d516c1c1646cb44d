/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-edge */
/* on blur */
/* The four neighbours that touch only a corner are left out at the border. */
#include <cuda_fp16.h>

extern "C" __global__ void blur(const __half *x, float *y, int H, int W)
{
	int w0 = blockIdx.x % W, h0 = blockIdx.x / W % H, n = blockIdx.x / W / H;
	float sum = 0;

	for (int h = h0 - 1; h <= h0 + 1; h++)
		for (int w = w0 - 1; w <= w0 + 1; w++)
			if (h >= 0 && h < H && w >= 0 && w < W && (h == h0 || w == w0 || (h0 && w0 && h0 + 1 < H && w0 + 1 < W)))
				sum += __half2float(x[((n * H + h) * W + w) * 64 + threadIdx.x]);
	y[blockIdx.x * 64 + threadIdx.x] = sum;
}
