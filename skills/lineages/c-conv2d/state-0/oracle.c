/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convolution as defined, every sum in the order r, s, c. The packed copy
 * of w has the filters innermost so that their loop vectorizes.
 */
#include <stdint.h>
#include <stdlib.h>

#include "kl_oracle.h"

static void pixel(int64_t H, int64_t W, int64_t C, int64_t F, int64_t h,
		  int64_t q, const kl_real *x, const kl_real *w, kl_real *y)
{
	for (int64_t f = 0; f < F; f++)
		y[f] = 0;
	for (int64_t r = 0; r < 3; r++) {
		for (int64_t s = 0; s < 3; s++) {
			int64_t a = h + r - 1, b = q + s - 1;

			if (a < 0 || a >= H || b < 0 || b >= W)
				continue;
			for (int64_t c = 0; c < C; c++) {
				const kl_real *v =
					w + ((r * 3 + s) * C + c) * F;
				kl_real at = x[(a * W + b) * C + c];

				for (int64_t f = 0; f < F; f++)
					y[f] += at * v[f];
			}
		}
	}
}

void oracle(int64_t N, int64_t H, int64_t W, int64_t C, int64_t F,
	    const kl_real *x, const kl_real *w, kl_real *y)
{
	kl_real *packed = malloc(9 * C * F * sizeof(*packed));

	if (!packed)
		return;
	for (int64_t f = 0; f < F; f++) {
		for (int64_t i = 0; i < 9 * C; i++)
			packed[i * F + f] = w[f * 9 * C + i];
	}
	for (int64_t n = 0; n < N; n++) {
		for (int64_t h = 0; h < H; h++) {
			for (int64_t q = 0; q < W; q++)
				pixel(H, W, C, F, h, q, x + n * H * W * C,
				      packed, y + ((n * H + h) * W + q) * F);
		}
	}
	free(packed);
}
