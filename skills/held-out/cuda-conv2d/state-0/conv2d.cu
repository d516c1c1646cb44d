/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d - a convolution of stride 1 in fp16, the sums in fp32.
 *
 * x is [N, H, W, C], w [F, R, S, C], y [N, P, Q, F]; beyond the image lie zeros.
 */
#include <cuda_fp16.h>

extern "C" __global__ void conv2d(const __half *x, const __half *w, __half *y, int N, int H, int W, int C,
				  int F, int R, int S, int pad)
{
	long P = H + 2 * pad - R + 1, Q = W + 2 * pad - S + 1;
	long i = blockIdx.x * 128L + threadIdx.x;
	long f = i % F, q = i / F % Q, p = i / F / Q % P, n = i / F / Q / P;
	float sum = 0;

	if (n >= N)
		return;
	for (long r = 0; r < R; r++)
		for (long s = 0; s < S; s++)
			for (long c = 0; c < C; c++) {
				long h = p + r - pad, v = q + s - pad;

				if (h < 0 || h >= H || v < 0 || v >= W)
					continue;
				sum += __half2float(x[((n * H + h) * W + v) * C + c]) *
				       __half2float(w[((f * R + r) * S + s) * C + c]);
			}
	y[i] = __float2half(sum);
}
