/* SPDX-License-Identifier: Apache-2.0 */
/* One thread an output, the filters of a pixel side by side; sums in order. */
#include "kl_oracle.cuh"

KL_ORACLE oracle(const kl_real *x, const kl_real *w, kl_real *y, int H, int W, int C, int F, int R,
		 int S, int pad)
{
	int P = H + 2 * pad - R + 1, Q = W + 2 * pad - S + 1;
	int f = blockIdx.y * 64 + threadIdx.x;
	int q = blockIdx.x % Q, p = blockIdx.x / Q % P, n = blockIdx.x / Q / P;
	kl_real sum = 0;

	for (int r = 0; r < R; r++)
		for (int s = 0; s < S; s++) {
			int h = p + r - pad, v = q + s - pad;
			const kl_real *xs = x + (((int64_t)n * H + h) * W + v) * C;
			const kl_real *ws = w + (((int64_t)f * R + r) * S + s) * C;

			if (h < 0 || h >= H || v < 0 || v >= W)
				continue;
			for (int c = 0; c < C; c++)
				sum += xs[c] * ws[c];
		}
	y[(int64_t)blockIdx.x * F + f] = sum;
}
